import ipaddress

def split_network(network: str, prefix: int) -> list[str]:
    """The subnets, at most 64 of them.

    Args:
        network: In CIDR notation, IPv4 or IPv6.
        prefix: Prefix length of the subnets.

    Raises:
        ValueError: The network cannot be read or split so.
    """
    whole = ipaddress.ip_network(network)
    if prefix < whole.prefixlen or prefix - whole.prefixlen > 6:
        raise ValueError("that many subnets are too many, or none")
    return [f"{each} ({each.num_addresses})" for each in whole.subnets(new_prefix=prefix)]


DESCRIPTION = "Splits a network into subnets of a given size."
EXAMPLES = [{'arguments': {'network': '10.0.0.0/24', 'prefix': 26},
  'expected': ['10.0.0.0/26 (64)',
               '10.0.0.64/26 (64)',
               '10.0.0.128/26 (64)',
               '10.0.0.192/26 (64)']},
 {'arguments': {'network': '2001:db8::/32', 'prefix': 34},
  'expected': ['2001:db8::/34 (19807040628566084398385987584)',
               '2001:db8:4000::/34 (19807040628566084398385987584)',
               '2001:db8:8000::/34 (19807040628566084398385987584)',
               '2001:db8:c000::/34 (19807040628566084398385987584)']},
 {'arguments': {'network': '10.0.0.1/24', 'prefix': 25}, 'raises': 'ValueError'},
 {'arguments': {'network': '10.0.0.0/8', 'prefix': 30}, 'raises': 'ValueError'},
 {'arguments': {'network': '10.0.0.0/24', 'prefix': 8}, 'raises': 'ValueError'},
 {'arguments': {'network': '192.168.0.0/30', 'prefix': 30}, 'expected': ['192.168.0.0/30 (4)']}]

"""Files of deploy/ for operators: what they promise together, and the tools that read them, where installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from alita_mcp.settings import SECRET, Settings

DEPLOY = Path(__file__).parents[1] / "deploy"
CHART = DEPLOY / "helm" / "alita"
OTHER = {
    "autoscaling": {"enabled": True},
    "hosts": ["tools.example.org"],
    "env": {"ALITA_MODEL": "openai/any"},
    "envFromSecrets": ["keys"],
    "imagePullSecrets": [{"name": "registry"}],
    "service": {"stickyByClient": False},
    "nodeSelector": {"kind": "tools"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "drain": {"graceSeconds": 3, "limitSeconds": 4},
}
"""Values that take the branches which the defaults do not."""


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def check_variables(names: set[str]) -> None:
    """Each `ALITA_` variable is a setting, or the file of a secret."""
    settings = [*Settings.model_fields, *(f"{name}_file" for name in SECRET)]
    known = {f"ALITA_{name.upper()}" for name in settings}
    assert {name for name in names if name.startswith("ALITA_")} <= known


def test_replicas_of_the_compose_file_drain_before_they_are_killed_and_get_secrets_as_files() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    alita, variables = compose["services"]["alita"], compose["services"]["alita"]["environment"]
    assert alita["deploy"]["replicas"] == 3
    grace, limit = float(variables["ALITA_DRAIN_GRACE_S"]), float(variables["ALITA_DRAIN_LIMIT_S"])
    assert seconds(alita["stop_grace_period"]) >= grace + limit + 5
    check = re.search(r"check inter (\d+)s fall (\d+)", (DEPLOY / "haproxy.cfg").read_text("utf-8"))
    assert check is not None
    assert grace > float(check[1]) * float(check[2])
    check_variables(set(variables))
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    assert "deploy/secrets/" in (DEPLOY.parent / ".gitignore").read_text("utf-8").split()


def output_of(*command: str | Path) -> str:
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_compose_file_is_taken_by_docker_compose(tmp_path: Path) -> None:
    compose = shutil.which("docker-compose")
    if not compose:
        pytest.skip("docker-compose is not installed")
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    taken = yaml.safe_load(output_of(compose, "-f", tmp_path / "deploy" / "compose.yaml", "config"))
    assert taken["services"].keys() == {"alita", "balancer", "postgres"}


def test_haproxy_takes_its_configuration() -> None:
    haproxy = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if not haproxy:
        pytest.skip("HAProxy is not installed")
    output_of(haproxy, "-c", "-f", DEPLOY / "haproxy.cfg")


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not nginx:
        pytest.skip("nginx is not installed")
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{ include {DEPLOY}/nginx.conf; }}\n")
    output_of(nginx, "-t", "-e", "stderr", "-c", whole)


@pytest.mark.skipif(sys.platform != "linux", reason="its library is built for Linux")
def test_helm_takes_the_chart() -> None:
    helm = pytest.importorskip("helm_python", reason="helm-python-sdk is not installed")
    report = helm.lint(str(CHART), strict=True)
    assert [found for found in report["messages"] if found["severity"] > 1] == report["errors"] == []


@pytest.mark.parametrize("values", [{}, OTHER], ids=["defaults", "others"])
def test_what_the_chart_renders_fits_the_schemas_of_kubernetes(values: dict[str, Any]) -> None:
    helm = pytest.importorskip("helm_python", reason="helm-python-sdk is not installed")
    schemas = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    with helm.Chart.load(str(CHART)) as chart:
        rendered = chart.render(values, name="team", namespace="tools")
    documents = [
        each for name, text in rendered.items() if name.endswith(".yaml") for each in yaml.safe_load_all(text)
    ]
    kinds = {document["kind"]: document for document in documents if document}
    for document in kinds.values():
        schemas.validate(document, "1.37", strict=True)
    assert kinds.keys() - {"HorizontalPodAutoscaler"} == {"Deployment", "Service", "PodDisruptionBudget"}
    assert ("HorizontalPodAutoscaler" in kinds) == bool(values)
    pod = kinds["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    check_variables(set(variables))
    wait = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] >= wait + float(variables["ALITA_DRAIN_LIMIT_S"]) + 5
    selector = kinds["Deployment"]["spec"]["selector"]["matchLabels"].items()
    assert selector <= kinds["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    assert selector == kinds["Service"]["spec"]["selector"].items()
    assert selector == kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items()

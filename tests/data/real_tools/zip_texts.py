import base64
import io
import zipfile

def zip_texts(files: dict[str, str]) -> list[str]:
    """Names and sizes as a reader of the archive sees them, then the archive's own check.

    Args:
        files: Texts by their names.

    Raises:
        ValueError: A name leads out of the archive.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            if ".." in name or name.startswith("/"):
                raise ValueError(f"the name {name!r} leads out of the archive")
            archive.writestr(zipfile.ZipInfo(name), text)
    packed = base64.b64encode(buffer.getvalue())
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed))) as archive:
        return [f"{info.filename}: {info.file_size}" for info in archive.infolist()] + [str(archive.testzip())]


DESCRIPTION = "Packs texts into a ZIP archive and lists what it holds."
EXAMPLES = [{'arguments': {'files': {'a.txt': 'hello', 'dir/b.txt': 'ü'}},
  'expected': ['a.txt: 5', 'dir/b.txt: 2', 'None']},
 {'arguments': {'files': {}}, 'expected': ['None']},
 {'arguments': {'files': {'../x': ''}}, 'raises': 'ValueError'},
 {'arguments': {'files': {'/etc': '1'}}, 'raises': 'ValueError'}]

"""Well-known Python package names, for the detection of imitations.

Source: written down by the authors from what they know to be depended on most, with some that this project itself
is locked to; no ranking was downloaded. A package that is missing here is only not defended.
"""

from __future__ import annotations

_NAMES = """
absl-py accelerate aioboto3 aiofiles aiohttp aiosignal aiosqlite alembic altair amqp annotated-types ansible
anthropic antlr4-python3-runtime anyio anywidget apache-airflow appdirs apscheduler argcomplete argon2-cffi
arrow asgiref astropy asttokens async-timeout asyncpg asyncssh attrs authlib autopep8 awscli azure-core
azure-identity azure-storage-blob babel backoff bandit bcrypt beautifulsoup4 billiard biopython black bleach
blinker blis bokeh boltons boto boto3 botocore bottle brotli build cachecontrol cachetools catalogue
catboost cattrs cchardet celery certifi cffi cftime chardet charset-normalizer cheroot cherrypy chromadb click
cloudpickle cloudscraper cmake colorama coloredlogs colorlog comtypes configobj contourpy cookiecutter
coverage croniter cryptography cssselect cupy cvxpy cycler cymem cython dacite dash dask databricks-sdk
dataclasses-json datasets dateparser deap debugpy decorator deepdiff defusedxml deprecated dill diskcache
distlib distributed distro django django-cors-headers django-filer django-filter djangorestframework dnspython docker
docopt docstring-parser docutils docx2txt dominate duckdb dulwich ecdsa einops elasticsearch email-validator
emoji et-xmlfile evaluate eventlet exceptiongroup execnet executing fabric faiss-cpu faker falcon fastai fastapi
fastavro fastjsonschema feedparser ffmpeg-python filelock filetype fiona fire flake8 flask flask-cors
flask-login flask-sqlalchemy folium fonttools fpdf fpdf2 freezegun frozenlist fsspec ftfy furl future
fuzzywuzzy gast gdown gensim geopandas geopy gevent gitdb gitpython gmpy2 google-api-core
google-api-python-client google-auth google-cloud-bigquery google-cloud-storage google-genai
google-generativeai google-oauth googleapis-common-protos googlemaps gradio graphene graphviz greenlet grpcio
grpcio-status grpcio-tools gspread gunicorn h11 h2 h3 h5py hatchling html2text html5lib httpcore httpcore2
httplib2 httptools httpx httpx-sse httpx2 huggingface-hub humanfriendly humanize hypercorn hyperlink
hypothesis icalendar identify idna imageio imageio-ffmpeg imagesize imbalanced-learn importlib-metadata
importlib-resources influxdb iniconfig installer invoke ipaddress ipykernel ipython ipywidgets isodate isort
itsdangerous jax jaxlib jedi jeepney jellyfish jinja2 jiter jmespath joblib json5 jsonlines jsonpatch jsonpath
jsonpath-ng jsonpickle jsonpointer jsonschema jupyter jupyter-client jupyter-core jupyterlab kaleido keras
keyring kiwisolver kombu konlpy kornia kubernetes lancedb langchain langchain-core langchain-openai
langdetect langgraph langsmith lark lazy-object-proxy librosa lightgbm lightning linkify-it-py litellm
llama-index llvmlite locust logbook loguru lxml lz4 mako markdown markdown-it-py markdownify markupsafe
marshmallow matplotlib matplotlib-inline mccabe mcp mdurl mechanize mistune mkdocs mkdocs-material mlflow
mock monty more-itertools moto moviepy mpmath msal msgpack msgspec multidict multiprocess murmurhash mutagen
mypy mypy-extensions mysql-connector-python mysqlclient namex narwhals natsort nbclient nbconvert nbformat
nest-asyncio netaddr netcdf4 networkx ninja nltk nodeenv nose notebook nox numba numexpr numpy
numpy-financial oauth2client oauthlib odfpy olefile ollama omegaconf onnx onnxruntime openai
opencv-contrib-python opencv-python opencv-python-headless openpyxl opentelemetry-api opentelemetry-sdk
optuna orjson osmnx outcome packaging paho-mqtt pandas pandera paramiko parsel parso partd passlib path
pathos pathspec patsy pdfminer-six pdfplumber pdm peewee pendulum pexpect phonenumbers pika pillow pint pip
pip-tools pipenv pipx plac platformdirs playwright plotly pluggy ply poetry polars pooch portalocker
pre-commit preshed prettytable prometheus-client prompt-toolkit propcache protobuf psutil psycopg
psycopg-binary psycopg2
psycopg2-binary ptyprocess pulp pure-eval py py4j pyarrow pyasn1 pyasn1-modules pyaudio pybind11 pycodestyle
pycountry pycparser pycryptodome pycryptodomex pycurl pydantic pydantic-core pydantic-settings pydash
pydocstyle pydot pydub pyflakes pygame pygithub pygments pyinstaller pyjwt pylint pymongo pymupdf pymysql
pynacl pynput pyodbc pyopenssl pyparsing pypdf pypdf2 pyperclip pyproj pyproject-hooks pyqt5 pyqt6
pyrsistent pyserial pyside6 pysocks pyspark pystemmer pytesseract pytest pytest-asyncio pytest-cov
pytest-mock pytest-xdist python-box python-dateutil python-docx python-dotenv python-jose python-json-logger
python-levenshtein python-magic python-multipart python-pptx python-slugify python-telegram-bot
pytorch-lightning pytz pyusb pywavelets pywin32 pyyaml pyzmq qdrant-client qrcode quart rapidfuzz rasterio
ray readability-lxml redis referencing regex reportlab requests requests-cache requests-mock
requests-oauthlib requests-toolbelt responses respx retry retrying rich rich-argparse rioxarray rope rpds-py
rsa ruamel-yaml ruff rx s3fs s3transfer safetensors sanic scapy schedule schema scikit-image scikit-learn
scipy scrapy seaborn selenium sentence-transformers sentencepiece sentry-sdk service-identity setuptools
setuptools-scm sgmllib3k shap shapely shellingham simpleeval simplejson simpy six skyfield slack-sdk
smart-open smmap sniffio snowballstemmer snowflake-connector-python sortedcontainers soundfile soupsieve
spacy sphinx sqlalchemy sqlglot sqlmodel sqlparse srsly sse-starlette stack-data starlette statsmodels
stevedore streamlit stripe structlog supervisor sympy tabulate tblib telethon tenacity tensorboard
tensorflow termcolor textblob textdistance texttable thinc threadpoolctl tifffile tiktoken timm tinycss2
tinydb tldextract tokenizers toml tomli tomli-w tomlkit toolz torch torchaudio torchvision tornado tox tqdm
trafilatura traitlets transformers trio triton tweepy twine twisted typeguard typer types-requests
typing-extensions typing-inspection tzdata tzlocal ujson umap-learn unidecode uritemplate urllib3 uv uvicorn
uvloop vcrpy virtualenv vobject w3lib waitress wandb wasabi watchdog watchfiles wcwidth weasyprint web3
webcolors webencodings websocket-client websockets werkzeug wheel whoosh wikipedia wordcloud wrapt wsproto
wtforms xarray xgboost xlrd xlsxwriter xlwings xlwt xmltodict xxhash yapf yarl yfinance yt-dlp zarr zeep
zipp zope-interface zstandard
"""
WELL_KNOWN = frozenset(_NAMES.split())
"""As indexes file them: lower case, with hyphens."""

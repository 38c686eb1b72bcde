"""Text for tests, and how it becomes columns, restated in plain Python."""
# ruff: noqa: RUF001

from collections import Counter

from sklearn.feature_extraction.text import CountVectorizer

_WORD = 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15

SCRIPTS = {
    "English": "It's the End of the World -- as we know_it (and I feel fine); 42 times, 3.14e-5!",
    "French": "Les élèves de l'école, à Noël, ont mangé des œufs: ÉLÈVES, ÀÉÎÕÜ naïve façade",
    "German": "Die Straße und die STRASSE; ẞ groß, Maße/Masse, Übermäßig schöne Öfen",
    "Turkish": "İstanbul'da IŞIK ılık İĞNE iğne DİYARBAKIR Isparta ISPARTA",
    "Greek": "ΟΔΥΣΣΕΥΣ Σ ΣΣ ΑΣ. ΑΣ' Σ'Α Α:ΣΒ ΑΣ:Β Ἀχιλῆος οὐλομένην, ΜΆΪΟΣ ΌΣΟΣ ΣΑΣ\u0301Σ",
    "Russian": "Все счастливые семьи похожи друг на друга, ЁЛКИ-иголки; йод ЙОД",
    "Arabic": "كُلُّ عَامٍ وَأَنْتُمْ بِخَيْرٍ ١٢٣ العربية ﷺ ﷲ",
    "Hebrew": "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में १२३ क़ानून",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน ๑๒๓ ำ",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。〇一二 ㈠ 豈",
    "Japanese": "すべての人間は、ガ ｶﾞ か\u3099 ㌔ ㍿ 自由であり ＡＢＣ１２３",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 \u1112\u1161\u11ab 한국",
    "emoji": "ok 👍🏽 👩‍👩‍👧‍👦 🇩🇪 a👍b ½ ² ³ ① ℃ ™ ﬁ ﬂ Ⅳ ⅷ x\u0301y",
    "white space": "a \t b\n\nc\u00a0d\u2003\u2003e\u3000f\x1c\x1dg  \n  h\u0085i \u200bj",
    "odd": "\x00nul\x00 \x7f _a_ __ a_ ꟸ 𝐀𝐁𝐂 𝟘𝟙 𐐀𐐁 Ａｂ ǅ ŉ ΐ ﬃ \U0010fffd ɐⱯ Ⱥ",
    "nothing": "",
    "no words": "?! -- ...",
}


def count_vectorizer(unit, ngrams, lowercase=True, strip_accents=False, min_length=2):
    """scikit-learn's vectorizer of the same n-grams."""
    return CountVectorizer(
        analyzer="word" if unit == "words" else "char",
        ngram_range=ngrams,
        lowercase=lowercase,
        strip_accents="unicode" if strip_accents else None,
        token_pattern=rf"(?u)\b\w{{{min_length},}}\b",
    )


def column_counts(document, unit, ngrams, **settings):
    """Columns of a document and their counts, by scikit-learn's n-grams and the definition."""
    grams = count_vectorizer(unit, ngrams, **settings).build_analyzer()(document)
    return Counter(gram_column(gram.split(" ") if unit == "words" else [gram]) for gram in grams)


def gram_column(items):
    """The column of an n-gram, as `docs/contract.md` defines it."""
    h = None
    for item in items:
        word = _hash(item.encode())
        h = word if h is None else _mix(h * _GOLDEN & _WORD ^ word)
    return h >> 2


def _hash(data):
    h = len(data) * _GOLDEN & _WORD
    for start in range(0, len(data), 8):
        h = _mix(h ^ int.from_bytes(data[start : start + 8], "little"))
    return h


def _mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31

import corekernels as ck


def test_public_names_are_the_intended_ones():
    assert sorted(ck.__all__) == [
        "CoREClassifier",
        "CoREError",
        "CoREHasher",
        "CoRENeighbors",
        "CoRENeighborsTransformer",
        "CoRERegressor",
        "Plan",
        "Recipe",
        "Signatures",
        "advise",
        "concatenate",
        "core1",
        "core2",
        "core_rbf",
        "correlation",
        "datasets",
        "distributed",
        "documents",
        "files",
        "gram_chunks",
        "gram_to_file",
        "io",
        "linear",
        "load_model",
        "plan",
        "resemblance",
        "text",
        "theory",
    ]
    assert all(hasattr(ck, name) for name in ck.__all__)

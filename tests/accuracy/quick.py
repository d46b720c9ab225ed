"""A test of the study in less than a minute: two networks, every pattern, every method, one seed."""
import methods
import patterns
import study

# (network, dense steps, further steps, accuracy that the dense one must have)
SUBJECTS = (("mlp_teacher", 700, 60, 0.65), ("lstm", 150, 60, 0.9))
PATTERNS = (("csr", 0.9), ("shfl_bw:V=16", 0.75), ("vector_wise:V=16", 0.75), ("bcsr:b=16", 0.75), ("n_m", 0.5),
            ("v_n_m:V=16,M=8", 0.75))

failures = []


def check(right, what):
    print("ok:" if right else "FAILED:", what)
    if not right:
        failures.append(what)


def check_run(weft, trained, method, pattern, sparsity, steps):
    record, model, pruner = trained.pruned(weft, method, pattern, sparsity, steps)
    what = f"{trained.name}, {method}, {pattern}"
    check(pruner.chosen.faults() == [], f"{what}: masks have the pattern")
    for name, mask in pruner.chosen.masks.items():
        kept = int(mask.sum())
        check(0 < kept <= round((1 - sparsity) * mask.numel()), f"{what}: {kept} of {mask.numel()} weights of {name}")
        check(bool((pruner.weights[name][mask == 0] == 0).all()), f"{what}: what was pruned of {name} stays zero")
        check(bool((pruner.weights[name][mask != 0] != 0).float().mean() > 0.9), f"{what}: what stays of {name} is used")
    chance = trained.task.chance
    check(record["pruned"] > chance + 0.3 * (record["dense"] - chance),
          f"{what}: accuracy {record['pruned']} after, {record['dense']} dense, {chance:.3f} by chance")
    return record, model


def check_pattern_checks():
    """They refuse what has no pattern."""
    import torch
    rows = torch.arange(16).view(-1, 1) % 2 * torch.ones(1, 16)
    for pattern in ("vector_wise:V=4", "bcsr:b=4", "n_m", "v_n_m:V=4,M=8"):
        check(not patterns.has_pattern(rows, pattern), f"{pattern} is refused where every second row is kept")
    order = torch.arange(16).view(-1, 2).T.flatten()
    check(patterns.has_pattern(rows, "shfl_bw:V=4", order), "shfl_bw has its pattern in another order of rows")
    check(not patterns.has_pattern(rows, "shfl_bw:V=4", torch.arange(16)), "and not in this one")


def check_quantized(weft, trained):
    """Errors of a rounding are in the order of the last bit, and zeros stay zero."""
    weights = {name: weight for name, weight in trained.model.named_parameters() if name in trained.subject.pruned}
    for how, error in (("e4m3:per_row", 1 / 16), ("e5m2:per_row", 1 / 8), ("i8:per_row", 1 / 254)):
        for name, value in patterns.quantized(weft, weights, how).items():
            weight = weights[name].detach()
            largest = weight.abs().amax(1, keepdim=True)
            allowed = error * (largest if how.startswith("i8") else weight.abs()) + 1e-4 * largest
            check(bool(((value - weight).abs() <= allowed).all()), f"{name} as {how} is near")
            check(not bool((value == weight).all()), f"{name} as {how} is rounded")


def run(weft):
    check_pattern_checks()
    for name, dense_steps, steps, least in SUBJECTS:
        trained = study.Trained(name, 1, "cpu", dense_steps)
        check(trained.accuracy > least, f"{name}: {trained.accuracy:.4f} dense")
        for method in methods.METHODS:
            for pattern, sparsity in PATTERNS if method in ("one_shot", "gradual") else PATTERNS[1:2]:
                check_run(weft, trained, method, pattern, sparsity, steps)
        check_quantized(weft, trained)
    print(f"{len(failures)} failures")
    return 1 if failures else 0

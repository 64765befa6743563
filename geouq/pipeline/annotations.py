"""Annotations: lines by which services of continuous integration show next to the code what failed."""

from collections.abc import Iterable, Iterator, Mapping

from geouq.pipeline.junit import Case

GITHUB, AZURE, TEAMCITY = "github", "azure", "teamcity"
SERVICES: Mapping[str, tuple[str, str]] = {  # variable of the environment and its value
    GITHUB: ("GITHUB_ACTIONS", "true"),
    AZURE: ("TF_BUILD", "True"),
    TEAMCITY: ("TEAMCITY_VERSION", ""),
}
ESCAPES: Mapping[str, Mapping[str, str]] = {
    GITHUB: {"%": "%25", "\r": "%0D", "\n": "%0A"},
    AZURE: {"%": "%AZP25", "\r": "%0D", "\n": "%0A", ";": "%3B", "]": "%5D"},
    TEAMCITY: {"|": "||", "'": "|'", "\n": "|n", "\r": "|r", "[": "|[", "]": "|]"},
}


def service_of(environment: Mapping[str, str]) -> str:
    """Return the service whose variables are in the environment; "" if there is none.

    >>> service_of({"GITHUB_ACTIONS": "true"})
    'github'
    """
    for service, (variable, value) in SERVICES.items():
        if variable in environment and value in ("", environment[variable]):
            return service
    return ""


def annotations(service: str, source: str, cases: Iterable[Case]) -> Iterator[str]:
    """Yield a line for each test that failed; none without a service.

    >>> print(*annotations("github", "forest.yaml", [Case("ence <= 0.1", "ence is 0.2"), Case("rmse <= 5")]))
    ::error title=geouq,file=forest.yaml::ence <= 0.1: ence is 0.2
    """
    for case in cases if service else ():
        if case.message:
            message = case.message if case.name in case.message else f"{case.name}: {case.message}"
            yield _line(service, source, message)


def _line(service: str, source: str, message: str) -> str:
    text = _escaped(service, message)
    if service == GITHUB:
        file = _escaped(service, source).replace(":", "%3A").replace(",", "%2C")
        return f"::error title=geouq,file={file}::{text}"
    if service == AZURE:
        return f"##vso[task.logissue type=error;sourcepath={_escaped(service, source)};]{text}"
    return f"##teamcity[buildProblem description='{_escaped(service, f'{source}: ')}{text}']"


def _escaped(service: str, text: str) -> str:
    """Return a text as the service reads it, in one line."""
    return "".join(ESCAPES[service].get(character, character) for character in text)

"""Values that are sent to other processes while this one uses them."""

from functools import cached_property
from typing import Any, ClassVar


class Sendable:
    """A value with cached properties, which stay behind when it is pickled.

    Another thread pickles what is sent, and a dictionary that grows meanwhile makes that fail.
    """

    _stay_behind: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members = (member for base in cls.__mro__ for member in vars(base).items())
        cls._stay_behind = frozenset(name for name, member in members if isinstance(member, cached_property))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are not cached; `dict.copy` lets no other thread in between."""
        return {name: value for name, value in self.__dict__.copy().items() if name not in self._stay_behind}

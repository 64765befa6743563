"""What every mapping of the configuration has in common."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from geouq.config.validation_errors import in_plain_words
from geouq.config.values import unique

# YAML itself may read a name such as 0346, no or 1e3 as another type; here it stays text
Text = Annotated[str, Field(min_length=1), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Names = Annotated[tuple[Text, ...], AfterValidator(unique)]


class Section(BaseModel):
    """A mapping of the configuration: frozen, without unknown keys; a null is like a key not written."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None or key not in cls.model_fields}
        try:
            return handler(data)
        except ValidationError as error:
            raise in_plain_words(error, cls) from None

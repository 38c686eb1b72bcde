from .opening import (
    FORMATS as FORMATS,
    document_format as document_format,
    format_of_name as format_of_name,
    open_documents as open_documents,
    preference_scores as preference_scores,
)
from .reader import Columns as Columns, DocumentReader as DocumentReader

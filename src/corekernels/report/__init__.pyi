from .advice import advice_report as advice_report
from .c_path import c_path_report as c_path_report
from .duplicates import duplicates_report as duplicates_report
from .page import svg_figures as svg_figures, write_page as write_page
from .survey import survey_report as survey_report

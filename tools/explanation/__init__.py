"""How well `fairhaul explain` finds policers, compared with captures of known truth."""

SOURCE = "the folder data/validation of https://github.com/USC-NSL/policing-detection"

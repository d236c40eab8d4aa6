"""How well `fairhaul explain` finds policers, controllers and limits whose truth is known."""

SOURCE = "the folder data/validation of https://github.com/USC-NSL/policing-detection"

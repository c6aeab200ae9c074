# Each target is one call of tools/course.py, which also works without make.
PYTHON ?= python3

book pdf epub test check lab exercises bench lock clean:
	@$(PYTHON) tools/course.py $@

.PHONY: book pdf epub test check lab exercises bench lock clean

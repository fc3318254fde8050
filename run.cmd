@echo off
rem run.cmd [arguments of gpt2gl]: sets up on the first call, then runs gpt2gl from this checkout.
rem Without arguments it opens the window.
rem The stamp is a copy of pyproject.toml; a set-up that did not end has none, and starts afresh.
setlocal
set "root=%~dp0"
set "venv=%root%.venv"
set "stamp=%venv%\gpt2gl-stamp.toml"
fc /b "%root%pyproject.toml" "%stamp%" >nul 2>nul && if exist "%venv%\Scripts\gpt2gl.exe" goto start

echo gpt2gl: creating .venv 1>&2
where py >nul 2>nul && (py -3 -m venv --clear "%venv%" 1>&2) || (python -m venv --clear "%venv%" 1>&2)
if errorlevel 1 (
  echo gpt2gl: no Python 3.10 or newer: get it from https://www.python.org/downloads/ 1>&2
  exit /b 1
)
echo gpt2gl: installing gpt2gl, about a minute the first time 1>&2
"%venv%\Scripts\python.exe" -m pip install --quiet --no-input --disable-pip-version-check -e "%root%." 1>&2
if errorlevel 1 (
  echo gpt2gl: pip failed; see its message above 1>&2
  exit /b 1
)
copy /y "%root%pyproject.toml" "%stamp%" >nul

:start
if "%~1"=="" (
  "%venv%\Scripts\gpt2gl.exe" chat
) else (
  "%venv%\Scripts\gpt2gl.exe" %*
)
exit /b %errorlevel%

#!/bin/sh
# Print the path of one working interpreter for each supported Python that this machine has.
for version in 3.11 3.12 3.13; do
  for candidate in "python$version" "/usr/bin/python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
    if path=$("$candidate" -c 'import sys, venv, ensurepip; print(sys.executable)' 2>/dev/null); then
      echo "$path"
      break
    fi
  done
done

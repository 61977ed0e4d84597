#!/bin/bash
# As root in a virtual machine: a systemd that has booted, in name spaces of its own, with a user whose manager runs, and
# a session of this user as after a login, its group root's. COMMAND runs in that session as the user `jobs`.
#   systemd_box.sh COMMAND...     exit status: the command's
set -euo pipefail
out=/mnt/vm groups=/sys/fs/cgroup
for ((folder_end = 1; folder_end <= ${#PWD}; folder_end++)); do
  case ${PWD:folder_end:1} in /|'') chmod o+x "${PWD:0:folder_end}" ;; esac
done
useradd --create-home --uid 4242 jobs
{
  printf 'export HOME=/home/jobs PATH=%q XDG_RUNTIME_DIR=/run/user/4242\ncd %q\n' "$PATH" "$PWD"
  printf '%q ' "$@"
} >/usr/local/bin/session-command
cat >/usr/local/bin/session <<'SESSION'
#!/bin/bash
loginctl enable-linger jobs
systemctl start user@4242.service
systemd-run --quiet --scope --slice=user-4242.slice --uid=4242 --gid=4242 bash /usr/local/bin/session-command
echo $? >/mnt/vm/session-status
SESSION
cat >/etc/systemd/system/session.service <<'UNIT'
[Unit]
Wants=dbus.service
After=dbus.service
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/bash /usr/local/bin/session
StandardOutput=file:/mnt/vm/session.log
StandardError=inherit
UNIT
: >/etc/fstab
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
rm -f "$out/session-status" "$out/session.log"
mkdir "$groups/box"
# The box's processes have a tree of groups for themselves, in the root of which none may be: no controller could be
# handed down. So who made the name spaces goes out again.
(
  echo $BASHPID >"$groups/box/cgroup.procs"
  exec unshare --mount --pid --fork --cgroup --ipc --uts --propagation slave bash -c '
    mount -t proc proc /proc
    umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mount -t tmpfs tmpfs /run && mkdir /run/lock
    exec env container=box /lib/systemd/systemd --system --unit=session.service --log-target=console'
) >"$out/systemd.log" 2>&1 &
box=$!
until [ "$(wc -l <"$groups/box/cgroup.procs")" -ge 2 ]; do sleep 0.1; done
mkdir "$groups/outside" && echo $box >"$groups/outside/cgroup.procs"
until [ -e "$out/session-status" ]; do
  kill -0 $box || { cat "$out/systemd.log" >&2; exit 125; }
  sleep 1
done
cat "$out/session.log"
exit "$(cat "$out/session-status")"

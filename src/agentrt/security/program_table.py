"""Table of ratings by program, subcommand and options. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from .calls import Call, names
from .rating import Rating
from .verdicts import high, low, medium, unknown


class Row(msgspec.Struct, frozen=True):
    """The rating of `programs` with one of `commands` and, if there are `flags`, one of these.

    A command is a sequence of operands, and the options that must be there too; an empty one matches every call.
    """

    programs: tuple[str, ...]
    commands: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    flags: tuple[str, ...]
    rating: Rating


def _row(programs: str, commands: str, rating: Rating, flags: str = "") -> Row:
    return Row(tuple(programs.split()), tuple(map(_command, commands.split("|"))), tuple(flags.split()), rating)


def _command(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words = text.split()
    operands = tuple(word for word in words if not word.startswith("-"))
    return operands, tuple(word for word in words if word.startswith("-"))


_DESTROYS = "destroys what others use"
_NETWORK = medium("talks to a network", ("network",), ("web",))
_INSTALLS = medium("installs software", ("network",), ("web",))
_PUBLISHES = medium("publishes", ("network", "push"))
_SECRETS = high("reads keys or passwords", ("secrets",))
_UPLOADS = high("sends local content to a network", ("network",))

ROWS = (
    # the machine
    _row("mkfs mke2fs mkswap wipefs fdisk sfdisk gdisk sgdisk parted cfdisk blkdiscard hdparm badblocks mkdosfs newfs"
         " lvremove vgremove pvremove mdadm cryptsetup zpool zfs diskutil format flashrom nvme losetup e2fsck "
         "fsck debugfs",
         "", high("changes disks or file systems")),
    _row("mount umount swapoff swapon", "", high("changes what is mounted")),
    _row("shutdown reboot halt poweroff kexec telinit", "", high("stops the machine")),
    _row("insmod modprobe rmmod depmod kmod", "", high("changes the kernel")),
    _row("useradd adduser usermod userdel deluser groupadd groupmod groupdel passwd chpasswd visudo vipw vigr gpasswd"
         " newgrp sg chsh chfn dscl", "", high("changes users or passwords")),
    _row("sudoedit", "", high("writes to the system", ("outside",))),
    _row("npm", "view|search|info|show", _NETWORK),
    _row("cargo", "search|info", _NETWORK),
    _row("iptables ip6tables nft ufw firewall-cmd setenforce semanage auditctl apparmor_parser aa-disable aa-complain"
         " aa-teardown csrutil spctl pfctl fail2ban-client setcap capsh", "", high("weakens the machine's protection")),
    _row("sysctl", "", high("changes the kernel"), "-w --write -p --system --load"),
    _row("systemctl", "start|stop|restart|disable|enable|mask|unmask|link|edit|daemon-reload|kill|isolate"
                      "|reboot|poweroff"
         "|halt|set-environment|preset|revert", high("changes services")),
    _row("loginctl", "enable-linger", high("changes services")),
    _row("launchctl", "load|unload|bootstrap|bootout|submit|enable|disable|remove", high("changes services")),
    _row("update-rc.d chkconfig rc-update initctl update-alternatives dpkg-divert", "", high("changes services")),
    _row("crontab", "", high("runs something later")),
    _row("crontab", "", low("lists jobs"), "-l"),
    _row("xmrig minerd cpuminer ethminer cgminer bfgminer nbminer t-rex lolminer phoenixminer ccminer xmr-stak", "",
         high("mines crypto money")),
    _row("ngrok localtunnel lt bore frpc chisel tailscale cloudflared telebit zrok serveo pagekite", "",
         high("opens the machine to a network", ("network",))),
    _row("gcore ptrace gdbserver", "", high("reads another process", ("secrets",))),
    _row("tcpdump tshark ettercap arpspoof dsniff bettercap responder", "", high("listens to the "
        "network", ("network", "secrets"))),
    _row("nmap masscan zmap hydra medusa sqlmap nikto gobuster ffuf john hashcat metasploit msfconsole msfvenom", "",
         high("attacks or searches machines", ("network",))),
    _row("chattr", "", high("changes what may be changed"), "-i +i -R -a +a"),
    _row("nvram efibootmgr grub-install update-grub grubby", "", high("changes how the machine starts")),
    # languages that no rule reads
    _row("m4 sbcl clisp ecl powershell pwsh swipl erl scala elixir octave gnuplot maxima gforth", "",
         unknown("runs code that no rule reads"),
         "-e --eval -eval --execute -execute -c -Command -command -EncodedCommand -enc -g --goal -x"),
    _row("m4", "", unknown("runs code that no rule reads")),
    # this runtime itself: its rules, its keys and its stores
    _row("agentrt", "", high("changes what agents may do, or what was done")),
    _row("agentrt", "", low("shows conversations"), "show list search verify --help --version"),
    # secrets
    _row("ssh-copy-id", "", high("gives a key to another machine", ("network", "secrets"))),
    _row("ssh-add ssh-keygen ssh-agent", "", medium("handles keys", ("secrets",))),
    _row("gpg gpg2", "", _SECRETS, "--export-secret-keys --export-secret-subkeys --export-secret-key"),
    _row("secret-tool", "lookup|search", _SECRETS),
    _row("security", "find-generic-password|find-internet-password|dump-keychain|export", _SECRETS),
    _row("pass gopass", "show|ls|grep|export", _SECRETS),
    _row("op", "read|item get|document get|signin", _SECRETS),
    _row("bw", "get|export|list", _SECRETS),
    _row("vault", "read|kv get|token|print", _SECRETS),
    _row("aws", "secretsmanager get-secret-value|sts get-session-token|sts assume-role|ecr get-login-password"
         "|configure get|configure export-credentials|iam create-access-key", _SECRETS),
    _row("aws", "ssm get-parameter|ssm get-parameters|ssm get-parameters-by-path", _SECRETS, "--with-decryption"),
    _row("gcloud", "auth print-access-token|auth print-identity-token|auth application-default|secrets "
                   "versions access", _SECRETS),
    _row("az", "account get-access-token|keyvault secret|ad sp create-for-rbac", _SECRETS),
    _row("gh", "auth token|auth status|secret", _SECRETS),
    _row("kubectl", "get secret|get secrets|describe secret|describe secrets|config view|create token", _SECRETS),
    _row("git", "credential|credential-store|credential-cache", _SECRETS),
    _row("heroku", "config|auth:token", _SECRETS),
    _row("mimikatz lazagne keychaindump", "", _SECRETS),
    # git
    _row("git", "push", _PUBLISHES),
    _row("git", "push", high("rewrites published history", ("network", "push")),
         "-f --force --force-with-lease --force-if-includes --mirror --delete -d --prune"),
    _row("git", "reset", medium("throws changes away"), "--hard --merge --keep"),
    _row("git", "clean|checkout .|checkout -- |restore|stash drop|stash clear|branch -D|branch -d|rm|worktree "
                "remove|tag -d"
         "|reflog expire|gc|prune|update-ref", medium("throws changes away")),
    _row("git", "filter-branch|filter-repo", high("rewrites history")),
    _row("git", "reflog expire", high("throws history away"), "--expire=now --all --expire-unreachable=now"),
    _row("git", "clone|fetch|pull|remote update|submodule update|submodule add|ls-remote|lfs fetch|lfs pull"
                "|archive", _NETWORK),
    _row("git", "archive", low("packs the project")),
    _row("git", "send-email|request-pull|bundle|daemon|http-backend|instaweb", _PUBLISHES),
    _row("git", "submodule foreach|bisect run|difftool|mergetool|rebase|replay|filter-branch", low("runs what "
        "it is given")),
    _row("hg svn bzr", "push|commit|ci|import", _PUBLISHES),
    _row("svn hg", "clone|checkout|co|update|up|export|pull", _NETWORK),
    _row("gh hub glab", "pr create|pr merge|pr close|pr comment|pr review|issue create|issue comment|issue close"
         "|release create|release upload|release delete|workflow run|repo create|repo edit|repo fork|api"
         "|label create|variable"
         "|mr create|mr merge|pr edit|issue edit|repo sync|run rerun|codespace", _PUBLISHES),
    _row("gh hub glab", "gist create|gist edit|repo delete|ssh-key add|gpg-key add|extension install|repo "
                        "deploy-key|snippet create",
         high("publishes or gives access", ("network", "push"))),
    _row("gh hub glab", "pr|issue|release|run|repo|search|workflow|browse|status|mr|ci|clone", _NETWORK),
    # packages
    _row("pip uv pipx poetry pdm pipenv conda mamba micromamba hatch rye pixi easy_install",
         "install|add|sync|lock|update|download|wheel|upgrade|pip install|pip sync|tool install|create|self update"
         "|env create|self add|inject|tool run|remove|uninstall|pip uninstall|env remove", _INSTALLS),
    _row("pip", "install|download|wheel", high("installs from a place of its own", ("network",), ("web",)),
         "--trusted-host"),
    _row("loginctl", "terminate-user|terminate-session|kill-user|kill-session", high("ends sessions of people")),
    _row("fuser", "", high("ends processes of others"), "-k --kill"),
    _row("btrfs", "subvolume delete|device|balance", high("changes disks or file systems")),
    _row("ip", "link set|addr add|addr del|route add|route del", high("changes how the machine is connected")),
    _row("nmcli", "con down|con delete|con modify|dev disconnect|networking off",
         high("changes how the machine is connected")),
    _row("date", "", high("changes the clock"), "-s --set"),
    _row("gh hub glab", "api", high("deletes what is published", ("network", "push")),
         "-XDELETE DELETE --method=DELETE"),
    _row("uvx npx pnpm-dlx", "", medium("fetches and runs a package", ("network",), ("web",))),
    _row("npm pnpm yarn bun deno", "install|i|ci|a|add|update|upgrade|up|install-test|it|link|dlx|x|create|init|exec"
                                   "|audit|rm|remove|uninstall|global",
         _INSTALLS),
    _row("yarn", "", _INSTALLS, "--frozen-lockfile --immutable"),
    _row("apt apt-get aptitude dnf yum zypper pacman apk brew port snap flatpak nix-env emerge dpkg rpm gem cargo go"
         " composer cpan cpanm luarocks opam stack cabal rustup nvm sdk asdf mise choco winget scoop mvn gradle dotnet"
         " nix corepack volta pkg conan vcpkg helm R bundle mix rebar3 swift pod flutter pub",
         "install|add|upgrade|update|dist-upgrade|full-upgrade|get|fetch|remove|purge|autoremove|require|tap|bundle"
         "|toolchain|component|mod download|mod tidy|repo add|profile install|deps.get|restore|reinstall"
         "|uninstall", _INSTALLS),
    _row("pacman emerge rpm dpkg", "", _INSTALLS, "-S -Sy -Syu -i -U -r --install --import -Uvh -ivh -R -Rns"),
    _row("npm pnpm yarn bun deno cargo poetry uv flit hatch gem twine docker helm pdm mvn gradle dotnet lerna changeset"
         " conan",
         "publish|upload|push|unpublish|deprecate|owner|dist-tag|yank|deploy|token|access|adduser|login", _PUBLISHES),
    _row("npm pnpm yarn bun deno cargo poetry uv flit hatch gem twine lerna changeset", "publish|upload",
         high("publishes a release", ("network", "push"))),
    _row("npm cargo gem", "unpublish|yank|token|owner|access", high("changes what is published", ("network", "push"))),
    # containers, clusters, clouds
    _row("docker", "build|pull|compose up|compose build|compose pull|buildx|run|create|compose run|exec"
                   "|start", medium("runs a container", ("network",))),
    _row("docker docker-compose", "rm|rmi|stop|kill|compose down|down|up|volume rm|network rm|container rm"
                                  "|image rm|restart", medium("changes containers")),
    _row("docker", "run|create|compose run|exec", high("gives a container the machine"),
         "--privileged --pid=host --net=host --network=host --userns=host --ipc=host --cap-add=ALL "
         "--cap-add=SYS_ADMIN"),
    _row("docker docker-compose", "system prune|volume prune|image prune|container prune|builder prune|swarm "
                                  "leave|stack rm", high(_DESTROYS)),
    _row("docker docker-compose", "compose down|down", high(_DESTROYS), "-v --volumes"),
    _row("docker", "login|context use|save|export|cp", medium("moves content", ("network",))),
    _row("kubectl", "delete|drain|cordon|replace|scale|rollout undo|rollout restart|taint|patch"
                    "|evict", high(_DESTROYS, ("network",))),
    _row("kubectl", "apply|create|edit|run|expose|set|label|annotate|cp|port-forward|exec|attach|debug"
                    "|proxy", high("changes a cluster", ("network",))),
    _row("kubectl", "get|describe|logs|top|explain|version|config|diff|wait|api-resources", _NETWORK),
    _row("helm", "uninstall|delete|rollback|upgrade|install", high("changes a cluster", ("network",))),
    _row("terraform terragrunt pulumi cdk cdktf sam serverless", "destroy|apply|up|deploy|taint|import|state "
        "rm|state push|workspace delete|remove|delete",
         high(_DESTROYS, ("network",))),
    _row("terraform terragrunt pulumi cdk sam", "init|plan|preview|refresh|diff|get|login", _NETWORK),
    _row("ansible ansible-playbook ansible-pull salt puppet chef-client knife fab cap", "", high("changes "
        "other machines", ("network",))),
    _row("aws", "s3 rm|s3 rb|s3 mv|s3 sync|s3api delete-object|s3api delete-bucket|s3api put-bucket-policy"
                "|ec2 terminate-instances"
         "|ec2 stop-instances|ec2 run-instances|rds delete-db-instance|rds delete-db-cluster|dynamodb delete-table"
         "|cloudformation delete-stack|lambda delete-function|lambda update-function-code|iam create-user|iam "
         "attach-user-policy"
         "|iam put-user-policy|iam delete-user|iam attach-role-policy|iam create-login-profile|eks delete-cluster"
         "|ecr delete-repository|route53 change-resource-record-sets|kms schedule-key-deletion|logs delete-log-group"
         "|cloudtrail stop-logging|cloudtrail delete-trail|lambda invoke|ssm send-command|ssm "
         "start-session", high(_DESTROYS, ("network",))),
    _row("aws az gcloud gsutil doctl linode-cli ibmcloud oci hcloud s3cmd b2 mc rclone azcopy", "", _NETWORK),
    _row("az gcloud doctl linode-cli ibmcloud oci hcloud flyctl fly heroku vercel netlify wrangler railway "
         "firebase", "", high(_DESTROYS, ("network",)),
         "delete destroy remove purge apps:destroy pg:reset terminate"),
    _row("flyctl fly heroku vercel netlify wrangler railway firebase surge eb", "", _PUBLISHES),
    _row("gsutil", "rm|rb|acl|iam|mv", high(_DESTROYS, ("network",))),
    _row("gsutil rclone azcopy s3cmd b2 mc", "cp|copy|copyto|sync|put|rsync|move|mirror|upload-file|rcat", _UPLOADS),
    # databases
    _row("dropdb mysqladmin pg_dropcluster dropuser", "", high("drops a database")),
    _row("redis-cli", "FLUSHALL|FLUSHDB|flushall|flushdb|SHUTDOWN|CONFIG SET|config set|SLAVEOF|REPLICAOF|EVAL"
                      "|MODULE LOAD", high("drops a database")),
    _row("psql mysql mongo mongosh redis-cli mongodump mongorestore mysqldump pg_dump pg_restore pg_dumpall "
         "mysqlimport cqlsh sqlcmd"
         " clickhouse-client influx etcdctl consul", "", medium("talks to a database", ("network",))),
    # processes, network
    _row("pkill killall skill xkill", "", medium("ends processes")),
    _row("ping ping6 traceroute tracepath mtr whois dig nslookup host drill nc telnet ftp lftp tftp ncftp "
         "http curl wget aria2c"
         " lynx w3m links elinks axel fetch yt-dlp youtube-dl gdown ssh sftp scp rsync mosh autossh sshfs rsh "
         "rlogin rexec socat"
         " websocat wscat grpcurl finger mail mailx mutt sendmail swaks msmtp openssl-s_client hey ab wrk "
         "iperf iperf3 croc"
         " magic-wormhole wormhole transfer huggingface-cli hf kaggle dvc wandb smbclient ldapsearch snmpwalk showmount"
         " xfreerdp vncviewer nats kcat kafkacat mosquitto_pub dog doggo kdig", "", _NETWORK),
    _row("openssl", "s_client|s_server|ocsp", _NETWORK),
    _row("mail mailx mutt sendmail swaks msmtp croc wormhole magic-wormhole transfer ssh-copy-id sshfs "
         "mosquitto_pub", "", _UPLOADS),
    _row("huggingface-cli hf kaggle wandb dvc", "upload|push|login|sync|repo create|datasets create|kernels "
                                                "push", _PUBLISHES),
    _row("osascript xdotool ydotool wmctrl", "", high("controls the desktop")),
    _row("npm pnpm yarn", "config set|set", high("changes where software comes from", ("outside",))),
    _row("xdg-open open sensible-browser firefox google-chrome chromium wslview", "", _NETWORK),
    _row("xclip xsel pbpaste wl-paste", "", medium("reads the clipboard", ("secrets",))),
    _row("screencapture scrot import gnome-screenshot grim ffmpeg-x11grab", "", medium("looks at the "
        "screen", ("secrets",))),
    _row("logger wall write mesg", "", medium("writes to others")),
    _row("journalctl", "", high("hides what was done"), "--vacuum-time --vacuum-size --rotate --vacuum-files"),
    _row("wevtutil logrotate", "", high("hides what was done")),
    _row("history", "", high("hides what was done"), "-c -d -w -cw -wc"),
    _row("env printenv", "", medium("shows the environment", ("secrets",))),
)  # fmt: skip


def _indexed() -> dict[str, tuple[Row, ...]]:
    index: dict[str, tuple[Row, ...]] = {}
    for row in ROWS:
        for name in row.programs:
            index[name] = (*index.get(name, ()), row)
    return index


_INDEX = _indexed()
_VALUED = names(
    "-C -c --git-dir --work-tree --namespace --exec-path -n --context --kubeconfig -H --host --profile "
    "--region --output -o --prefix --project --subscription -f --file -p --project-name --config --log-level "
    "-R --repo --endpoint-url --account --zone --directory --manifest-path --color --cache-dir --workdir -w "
    "--filter --cwd --dir --python"
)
_LISTS = {"env": 1, "printenv": 1}


def rate_by_table(call: Call) -> Iterator[Rating]:
    """Yield the ratings of the rows that match a call; matching LOW rows with flags replace all others."""
    rows = _INDEX.get(call.name) or _INDEX.get(call.name.partition(".")[0] if call.name.startswith("mkfs") else "")
    if not rows:
        return
    if call.name in _LISTS and any(not word.startswith("-") for word in call.words):
        return
    operands, flags, moved = _split(call.words)
    starts = range(min(len(operands), 3) if moved else 1)
    found = [row for row in rows if _fits(row, operands, flags, starts)]
    exempt = [row for row in found if row.rating.risk == "LOW" and row.flags]
    for row in exempt or found:
        yield row.rating


def _fits(row: Row, operands: tuple[str, ...], flags: tuple[str, ...], starts: range) -> bool:
    if row.flags and not any(_same(wanted, flag) for wanted in row.flags for flag in (*flags, *operands)):
        return False
    for wanted, dashes in row.commands:
        if dashes and not all(dash in flags for dash in dashes):
            continue
        if not wanted or any(operands[start : start + len(wanted)] == wanted for start in starts):
            return True
    return False


def _same(wanted: str, flag: str) -> bool:
    if flag == wanted or (wanted.startswith("--") and flag.startswith(wanted + "=")):
        return True
    if wanted.startswith("--") and len(flag) > 3 and wanted.startswith(flag):
        return True  # git and others accept abbreviated long options
    short = len(wanted) == 2 and wanted[0] == "-" and wanted[1] != "-"
    return short and flag[:1] == "-" and flag[1:2] not in ("", "-") and wanted[1] in flag[1:]


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return operands, options (long ones also joined to the next word by `=`), and whether an option comes first."""
    operands: list[str] = []
    flags: list[str] = []
    moved = False
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("-"):
            operands.append(word)
            continue
        flags.append(word)
        moved = moved or not operands
        if index < len(words) and word.startswith("--") and "=" not in word:
            flags.append(f"{word}={words[index]}")
        if not operands and word in _VALUED and index < len(words):
            index += 1
    return tuple(operands), tuple(flags), moved

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Systemd {
  /**
   * System units start at boot. User units start at the user's first login, or at boot if lingering is enabled for the
   * user.
   */
  scope: 'system' | 'user';
  folder: string;
  call: (program: 'systemctl' | 'loginctl', args: string[]) => string;
}

/** Returns the systemd that manages services for this user, or null if there is none. */
export function findSystemd(configHome: string): Systemd | null {
  if (!existsSync('/run/systemd/system')) return null;
  const isRoot = process.getuid?.() === 0;
  const callProgram: Systemd['call'] = (program, args) =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (isRoot) return { scope: 'system', folder: '/etc/systemd/system', call: callProgram };
  try {
    callProgram('systemctl', ['--user', 'show-environment']);
  } catch {
    // A user has no systemd session after `su`, for example.
    return null;
  }
  return { scope: 'user', folder: join(configHome, 'systemd/user'), call: callProgram };
}

export interface ServicePlace {
  folder: string;
  program: string;
  log: string;
  agentId: string;
  environment: Record<string, string>;
  /** Whether the folder is the default folder of workers. The unit of any other folder has a suffix in its name. */
  isUsual: boolean;
}

/** The systemd service that runs the worker of a folder, and restarts it after a failure. */
export class SystemdUnit {
  readonly name: string;
  private readonly path: string;
  private readonly variables: string;

  constructor(
    private readonly systemd: Systemd,
    private readonly place: Pick<ServicePlace, 'folder' | 'isUsual'>,
  ) {
    const tail = place.isUsual ? '' : `-${createHash('sha256').update(place.folder).digest('hex').slice(0, 8)}`;
    this.name = `muster-worker${tail}.service`;
    this.path = join(systemd.folder, this.name);
    this.variables = join(place.folder, 'systemd.env');
  }

  get isInstalled(): boolean {
    return existsSync(this.path);
  }

  /** Writes and enables the unit. Returns an instruction for the user if it will not start at boot, otherwise null. */
  installUnit({ program, log, agentId, environment }: ServicePlace): string | null {
    mkdirSync(this.systemd.folder, { recursive: true });
    rmSync(this.variables, { force: true });
    writeFileSync(this.variables, formatEnvironmentFile(environment), { mode: 0o600, flag: 'wx' });
    const { scope } = this.systemd;
    writeFileSync(this.path, formatUnit({ ...this.place, program, log, agentId, variables: this.variables, scope }));
    this.runSystemctl('daemon-reload');
    this.runSystemctl('enable', this.name);
    return scope === 'user' ? this.enableLinger() : null;
  }

  startUnit(): void {
    this.runSystemctl('restart', this.name);
  }

  stopUnit(): void {
    this.runSystemctl('stop', this.name);
  }

  removeUnit(): void {
    this.runSystemctl('disable', '--now', this.name);
    rmSync(this.path, { force: true });
    rmSync(this.variables, { force: true });
    this.runSystemctl('daemon-reload');
  }

  private enableLinger(): string | null {
    try {
      this.systemd.call('loginctl', ['enable-linger']);
      return null;
    } catch {
      return 'It starts when you sign in to this machine. To start it at boot, run sudo loginctl enable-linger "$USER"';
    }
  }

  private runSystemctl(...args: string[]): void {
    this.systemd.call('systemctl', [...(this.systemd.scope === 'user' ? ['--user'] : []), ...args]);
  }
}

interface UnitFacts extends Pick<ServicePlace, 'folder' | 'program' | 'log' | 'agentId'> {
  variables: string;
  scope: Systemd['scope'];
}

function formatUnit({ folder, program, log, agentId, variables, scope }: UnitFacts): string {
  const escapePercent = (text: string) => text.replaceAll('%', '%%');
  const quoteText = (text: string) => `"${escapePercent(text).replaceAll(/["\\]/g, '\\$&')}"`;
  // systemd replaces variables in arguments, but not in the path of the program.
  const quoteArgument = (text: string) => quoteText(text).replaceAll('$', '$$$$');
  // systemd expands EnvironmentFile as a file pattern.
  const escapePattern = (text: string) => escapePercent(text).replaceAll(/[[\]*?\\]/g, '\\$&');
  return `[Unit]
Description=Muster worker of the agent ${agentId}
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=${quoteText(process.execPath)} ${quoteArgument(program)}
WorkingDirectory=${escapePercent(folder)}
EnvironmentFile=${escapePattern(variables)}
StandardOutput=append:${escapePercent(log)}
StandardError=append:${escapePercent(log)}
# Stops only the worker. A run in progress continues, and the next worker takes it over.
KillMode=process
TimeoutStopSec=60
Restart=always
RestartSec=5
# 2: invalid settings. 3: another worker took over, or the agent was terminated. A restart would not help.
RestartPreventExitStatus=2 3

[Install]
WantedBy=${scope === 'user' ? 'default.target' : 'multi-user.target'}
`;
}

/** Formats variables for systemd's EnvironmentFile, with its quotes and escapes. */
function formatEnvironmentFile(environment: Record<string, string>): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}="${value.replaceAll(/["\\$`]/g, '\\$&')}"\n`)
    .join('');
}

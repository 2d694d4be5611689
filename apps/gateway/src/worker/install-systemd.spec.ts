import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { renderInstallScript } from './install-script';

const run = promisify(execFile);
const itVerifies = existsSync('/usr/bin/systemd-analyze') ? it : it.skip;

describe('the install script on a machine with systemd', () => {
  let root: string;
  const inRoot = (...path: string[]) => join(root, ...path);
  /** A name that contains everything that systemd interprets. */
  const odd = '100% $x "q" [a] \\b';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'muster-systemd-'));
    for (const each of ['bin', 'node 100% $x', 'run', 'etc', odd]) mkdirSync(inRoot(each));
    const worker = 'console.log("python  yes");\n';
    writeFileSync(inRoot('worker.js'), worker);
    writeFileSync(inRoot('worker.sha256'), createHash('sha256').update(worker).digest('hex'));
    addProgram('curl', `case "$2" in *.sha256) cat "${root}/worker.sha256" ;; *) cat "${root}/worker.js" ;; esac`);
    addProgram('id', `echo "$USER_ID"`);
    for (const name of ['systemctl', 'loginctl']) addProgram(name, `echo "${name} $*" >> "${root}/calls"`);
    symlinkSync(process.execPath, inRoot('node 100% $x/node'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function addProgram(name: string, text: string): void {
    writeFileSync(inRoot('bin', name), `#!/bin/sh\n${text}\n`);
    chmodSync(inRoot('bin', name), 0o700);
  }

  const install = async (userId: number, { node = 'node 100% $x' } = {}) => {
    // Replaces the folders of systemd in the script by folders of this test.
    const text = renderInstallScript('http://service.test')
      .replaceAll('/run/systemd/system', inRoot('run'))
      .replaceAll('/etc/systemd/system', inRoot('etc'));
    writeFileSync(inRoot('install.sh'), text);
    const env = {
      PATH: [inRoot('bin'), inRoot(node), '/usr/bin', '/bin'].join(':'),
      HOME: root,
      USER_ID: `${userId}`,
      AGENT_ID: 'agent-1',
      SERVICE_API_KEY: 'msk_a',
      MUSTER_WORKER_HOME: inRoot(odd),
      IMAGING_PATH_MAP: '\\\\server\\a="b" `c` $d 50%',
    };
    return run('sh', [inRoot('install.sh')], { env });
  };
  const calls = () => readFileSync(inRoot('calls'), 'utf8').trim().split('\n');
  const unitOf = (folder: string) =>
    `muster-worker-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}.service`;

  it('the install script escapes what systemd interprets in each path of the unit and in each saved variable', async () => {
    const { stdout } = await install(1000);
    const unit = unitOf(inRoot(odd));
    expect(stdout).toContain(`the worker runs as ${unit} and starts with this machine`);
    const lines = readFileSync(inRoot('.config/systemd/user', unit), 'utf8').split('\n');
    expect(lines).toContain(
      `ExecStart="${root}/node 100%% $x/node" "${root}/100%% $$x \\"q\\" [a] \\\\b/muster-worker.js"`,
    );
    expect(lines).toContain(`WorkingDirectory=${root}/100%% $x "q" [a] \\b`);
    expect(lines).toContain(`EnvironmentFile=${root}/100%% $x "q" \\[a\\] \\\\b/systemd.env`);
    expect(lines).toContain(`StandardOutput=append:${root}/100%% $x "q" [a] \\b/worker.log`);
    expect(lines).toContain(`StandardError=append:${root}/100%% $x "q" [a] \\b/worker.log`);
    expect(lines).toContain('WantedBy=default.target');
    const saved = readFileSync(inRoot(odd, 'systemd.env'), 'utf8').split('\n');
    expect(saved).toContain('IMAGING_PATH_MAP="\\\\\\\\server\\\\a=\\"b\\" \\`c\\` \\$d 50%"');
    expect(saved).toContain(`MUSTER_WORKER_DIR="${root}/100% \\$x \\"q\\" [a] \\\\b/data"`);
    expect(calls()).toEqual([
      'systemctl --user show-environment',
      'loginctl enable-linger',
      'systemctl --user daemon-reload',
      `systemctl --user enable ${unit}`,
      `systemctl --user restart ${unit}`,
    ]);
  });

  it('the install script of root writes a system unit, which starts at boot', async () => {
    await install(0);
    const unit = unitOf(inRoot(odd));
    expect(readFileSync(inRoot('etc', unit), 'utf8')).toContain('WantedBy=multi-user.target\n');
    expect(calls()).toEqual(['systemctl daemon-reload', `systemctl enable ${unit}`, `systemctl restart ${unit}`]);
  });

  it('the install script refuses a Node.js whose path systemd cannot run, before it writes a unit', async () => {
    mkdirSync(inRoot('node "q"'));
    symlinkSync(process.execPath, inRoot('node "q"/node'));
    await expect(install(0, { node: 'node "q"' })).rejects.toThrow('its path contains a quote or a backslash');
    expect(existsSync(inRoot('etc', unitOf(inRoot(odd))))).toBe(false);
    expect(existsSync(inRoot('calls'))).toBe(false);
  });

  itVerifies('systemd-analyze verifies the unit of the install script without a warning', async () => {
    await install(0);
    const path = inRoot('etc', unitOf(inRoot(odd)));
    expect(execFileSync('systemd-analyze', ['verify', path], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
  });
});

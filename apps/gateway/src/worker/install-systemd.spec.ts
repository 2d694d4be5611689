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
  const getPathInRoot = (...path: string[]) => join(root, ...path);
  /** A name that contains everything that systemd interprets. */
  const odd = '100% $x "q" [a] \\b';

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'muster-systemd-'));
    for (const each of ['bin', 'node 100% $x', 'run', 'etc', odd]) mkdirSync(getPathInRoot(each));
    const worker = 'console.log("python  yes");\n';
    writeFileSync(getPathInRoot('worker.js'), worker);
    writeFileSync(getPathInRoot('worker.sha256'), createHash('sha256').update(worker).digest('hex'));
    addProgram('curl', `case "$2" in *.sha256) cat "${root}/worker.sha256" ;; *) cat "${root}/worker.js" ;; esac`);
    addProgram('id', `echo "$USER_ID"`);
    for (const name of ['systemctl', 'loginctl']) addProgram(name, `echo "${name} $*" >> "${root}/calls"`);
    symlinkSync(process.execPath, getPathInRoot('node 100% $x/node'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function addProgram(name: string, text: string): void {
    writeFileSync(getPathInRoot('bin', name), `#!/bin/sh\n${text}\n`);
    chmodSync(getPathInRoot('bin', name), 0o700);
  }

  const runInstallScript = async (userId: number, { node = 'node 100% $x' } = {}) => {
    // Replaces the folders of systemd in the script by folders of this test.
    const text = renderInstallScript('http://service.test')
      .replaceAll('/run/systemd/system', getPathInRoot('run'))
      .replaceAll('/etc/systemd/system', getPathInRoot('etc'));
    writeFileSync(getPathInRoot('install.sh'), text);
    const env = {
      PATH: [getPathInRoot('bin'), getPathInRoot(node), '/usr/bin', '/bin'].join(':'),
      HOME: root,
      USER_ID: `${userId}`,
      AGENT_ID: 'agent-1',
      SERVICE_API_KEY: 'msk_a',
      MUSTER_WORKER_HOME: getPathInRoot(odd),
      IMAGING_PATH_MAP: '\\\\server\\a="b" `c` $d 50%',
    };
    return run('sh', [getPathInRoot('install.sh')], { env });
  };
  const readProgramCalls = () => readFileSync(getPathInRoot('calls'), 'utf8').trim().split('\n');
  const getUnitName = (folder: string) =>
    `muster-worker-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}.service`;

  it('the install script escapes what systemd interprets in each path of the unit and in each saved variable', async () => {
    const { stdout } = await runInstallScript(1000);
    const unit = getUnitName(getPathInRoot(odd));
    expect(stdout).toContain(`the worker runs as ${unit} and starts with this machine`);
    const lines = readFileSync(getPathInRoot('.config/systemd/user', unit), 'utf8').split('\n');
    expect(lines).toContain(
      `ExecStart="${root}/node 100%% $x/node" "${root}/100%% $$x \\"q\\" [a] \\\\b/muster-worker.js"`,
    );
    expect(lines).toContain(`WorkingDirectory=${root}/100%% $x "q" [a] \\b`);
    expect(lines).toContain(`EnvironmentFile=${root}/100%% $x "q" \\[a\\] \\\\b/systemd.env`);
    expect(lines).toContain(`StandardOutput=append:${root}/100%% $x "q" [a] \\b/worker.log`);
    expect(lines).toContain(`StandardError=append:${root}/100%% $x "q" [a] \\b/worker.log`);
    expect(lines).toContain('WantedBy=default.target');
    const saved = readFileSync(getPathInRoot(odd, 'systemd.env'), 'utf8').split('\n');
    expect(saved).toContain('IMAGING_PATH_MAP="\\\\\\\\server\\\\a=\\"b\\" \\`c\\` \\$d 50%"');
    expect(saved).toContain(`MUSTER_WORKER_DIR="${root}/100% \\$x \\"q\\" [a] \\\\b/data"`);
    expect(readProgramCalls()).toEqual([
      'systemctl --user show-environment',
      'loginctl enable-linger',
      'systemctl --user daemon-reload',
      `systemctl --user enable ${unit}`,
      `systemctl --user restart ${unit}`,
    ]);
  });

  it('the install script of root writes a system unit, which starts at boot', async () => {
    await runInstallScript(0);
    const unit = getUnitName(getPathInRoot(odd));
    expect(readFileSync(getPathInRoot('etc', unit), 'utf8')).toContain('WantedBy=multi-user.target\n');
    expect(readProgramCalls()).toEqual([
      'systemctl daemon-reload',
      `systemctl enable ${unit}`,
      `systemctl restart ${unit}`,
    ]);
  });

  it('the install script refuses a Node.js whose path systemd cannot run, before it writes a unit', async () => {
    mkdirSync(getPathInRoot('node "q"'));
    symlinkSync(process.execPath, getPathInRoot('node "q"/node'));
    await expect(runInstallScript(0, { node: 'node "q"' })).rejects.toThrow('its path contains a quote or a backslash');
    expect(existsSync(getPathInRoot('etc', getUnitName(getPathInRoot(odd))))).toBe(false);
    expect(existsSync(getPathInRoot('calls'))).toBe(false);
  });

  itVerifies('systemd-analyze verifies the unit of the install script without a warning', async () => {
    await runInstallScript(0);
    const path = getPathInRoot('etc', getUnitName(getPathInRoot(odd)));
    expect(execFileSync('systemd-analyze', ['verify', path], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
  });
});

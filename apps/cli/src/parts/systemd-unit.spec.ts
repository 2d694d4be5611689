import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Systemd, SystemdUnit } from './systemd-unit';

const hasSystemd = existsSync('/usr/bin/systemd-analyze');
const itVerifies = hasSystemd ? it : it.skip;

describe('a worker as a systemd service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-unit 100% $x "q" [a] \\b '));
  const calls: string[] = [];
  let lingers = true;
  const makeSystemd = (scope: Systemd['scope']): Systemd => ({
    scope,
    folder: join(folder, 'units'),
    call: (program, args) => {
      calls.push([program, ...args].join(' '));
      if (program === 'loginctl' && !lingers) throw new Error('not allowed');
      return '';
    },
  });
  const environment = { SERVICE_API_KEY: 'msk_a', IMAGING_PATH_MAP: '\\\\server\\images=/mnt', PRACTICE: 'a "$b" `c`' };
  const place = { folder, isUsual: true, program: join(folder, 'muster-worker.js'), log: join(folder, 'worker.log') };
  const settings = { ...place, agentId: 'a-1', environment };

  beforeEach(() => {
    calls.length = 0;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('a system unit that starts at boot has its variables in a private file, which is removed with the unit', () => {
    const unit = new SystemdUnit(makeSystemd('system'), place);
    expect(unit.isInstalled).toBe(false);
    expect(unit.installUnit(settings)).toBeNull();
    unit.startUnit();
    expect(calls).toEqual([
      'systemctl daemon-reload',
      'systemctl enable muster-worker.service',
      'systemctl restart muster-worker.service',
    ]);
    const text = readFileSync(join(folder, 'units/muster-worker.service'), 'utf8');
    expect(text).toContain('WantedBy=multi-user.target');
    expect(text).not.toContain('msk_a');
    const variables = join(folder, 'systemd.env');
    expect(statSync(variables).mode & 0o777).toBe(0o600);
    expect(readFileSync(variables, 'utf8')).toBe(
      'SERVICE_API_KEY="msk_a"\nIMAGING_PATH_MAP="\\\\\\\\server\\\\images=/mnt"\nPRACTICE="a \\"\\$b\\" \\`c\\`"\n',
    );
    unit.removeUnit();
    expect([unit.isInstalled, existsSync(variables)]).toEqual([false, false]);
    expect(calls).toContain('systemctl disable --now muster-worker.service');
  });

  it('installing a user unit enables lingering, or returns an instruction if lingering is not permitted', () => {
    const elsewhere = new SystemdUnit(makeSystemd('user'), { folder: '/srv/other', isUsual: false });
    expect(elsewhere.name).toMatch(/^muster-worker-[0-9a-f]{8}\.service$/);
    const unit = new SystemdUnit(makeSystemd('user'), place);
    expect(unit.installUnit(settings)).toBeNull();
    expect(calls).toContain('systemctl --user enable muster-worker.service');
    expect(calls).toContain('loginctl enable-linger');
    lingers = false;
    expect(unit.installUnit(settings)).toContain('enable-linger');
    unit.removeUnit();
  });

  it('the systemd unit of a worker escapes what systemd interprets in each of its paths', () => {
    const unit = new SystemdUnit(makeSystemd('system'), place);
    const { execPath } = process;
    process.execPath = '/opt/100% $x/node';
    unit.installUnit(settings);
    process.execPath = execPath;
    const text = readFileSync(join(folder, 'units/muster-worker.service'), 'utf8');
    const path = folder.replaceAll('%', '%%');
    const argument = path.replace('$x', '$$$$x').replace('"q"', '\\"q\\"').replace('\\b', '\\\\b');
    expect(text).toContain(`ExecStart="/opt/100%% $x/node" "${argument}/muster-worker.js"\n`);
    expect(text).toContain(`WorkingDirectory=${path}\n`);
    const pattern = path.replace('[a]', '\\[a\\]').replace('\\b', '\\\\b');
    expect(text).toContain(`EnvironmentFile=${pattern}/systemd.env\n`);
    expect(text).toContain(`StandardOutput=append:${path}/worker.log\n`);
    unit.removeUnit();
  });

  itVerifies('systemd-analyze verifies the systemd unit of a worker without a warning', () => {
    const unit = new SystemdUnit(makeSystemd('system'), place);
    unit.installUnit({ ...settings, program: process.execPath });
    const path = join(folder, 'units/muster-worker.service');
    expect(execFileSync('systemd-analyze', ['verify', path], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
    unit.removeUnit();
  });
});

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findOrFetchChromium, findInstalledChromium } from './chromium';

const folder = mkdtempSync(join(tmpdir(), 'muster-chromium-'));
const shop = join(folder, 'shop');
const bin = join(folder, 'bin');
const packer = ['/usr/bin/dpkg-deb', '/bin/dpkg-deb'].find((path) => existsSync(path));

beforeAll(() => {
  mkdirSync(shop);
  mkdirSync(bin);
  for (const tool of ['sh', 'cat', 'cp', 'dpkg-deb', 'tar', 'rm', 'echo', 'sleep', 'kill']) {
    const path = ['/usr/bin', '/bin'].map((each) => join(each, tool)).find((path) => existsSync(path));
    if (path) symlinkSync(path, join(bin, tool));
  }
  if (!packer) return;
  writePackage('chromium', {
    'usr/lib/chromium/chromium': '#!/bin/sh\necho "Chromium 1 $LD_LIBRARY_PATH $FONTCONFIG_FILE"\n',
  });
  writePackage('libpulse0', { 'usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so': '' });
  writePackage('libnss3', { 'usr/lib/x86_64-linux-gnu/libnss3.so': '', 'usr/lib/x86_64-linux-gnu/share/a.txt': '' });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the installed Chromium is the program in CHROMIUM, or the first one on PATH that runs', async () => {
  await expect(findInstalledChromium({ CHROMIUM: '/opt/own', PATH: bin })).resolves.toBe('/opt/own');
  await expect(findInstalledChromium({ PATH: bin })).resolves.toBeNull();
  const installed = join(folder, 'installed');
  writeProgram(join(installed, 'chromium'), 'exit 1');
  writeProgram(join(installed, 'google-chrome'), 'exit 0');
  await expect(findInstalledChromium({ PATH: `relative:${bin}:${installed}` })).resolves.toBe(
    join(installed, 'google-chrome'),
  );
});

it('the reasons are returned if Chromium cannot be downloaded', async () => {
  await expect(findOrFetchChromium(buildSetting('none'))).resolves.toEqual(['apt-get is not installed']);
  writeAptProgram(`[ "$1" = --version ] && exit 0; echo "E: Unable to locate package chromium"; exit 100`);
  await expect(findOrFetchChromium(buildSetting('none'))).resolves.toEqual(['Unable to locate package chromium']);
  expect(readdirSync(join(folder, 'none'))).toEqual([]);
});

(packer ? it : it.skip)('Chromium and its dependencies are downloaded once, and run from the cache', async () => {
  writeAptProgram(`
    case "$*" in
      *--version*) ;;
      *--print-uris*Dir::Cache::archives=*) for each in libpulse0 libnss3 chromium; do
        echo "'http://debian/pool/$each.deb' \${each}_1_amd64.deb 1 MD5Sum:0"; done ;;
      *download*) cp ${shop}/*.deb . ; echo "$*" >> ${shop}/downloads ;;
      *) exit 100 ;;
    esac`);
  const lines: string[] = [];
  const found = await findOrFetchChromium({ ...buildSetting('cache'), onProgress: (line) => lines.push(line) });
  const cached = dirname(found as string);
  expect(lines).toEqual([
    'chromium: downloading libpulse0 libnss3 chromium (apt-get download)',
    `chromium: saved in ${cached}`,
  ]);
  const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu/pulseaudio'].map((each) =>
    join(cached, each),
  );
  const output = execFileSync(found as string, { encoding: 'utf8' })
    .trim()
    .split(' ');
  expect(output[2]!.split(':').sort()).toEqual(libraries);
  expect(output[3]).toBe(join(cached, 'fonts.conf'));
  await expect(findOrFetchChromium(buildSetting('cache'))).resolves.toBe(found);
  expect(
    execFileSync('cat', [join(shop, 'downloads')], { encoding: 'utf8' })
      .trim()
      .split('\n'),
  ).toHaveLength(1);
  expect(readdirSync(dirname(cached))).toHaveLength(1);
});

function buildSetting(cache: string) {
  const env = { PATH: bin, HOME: folder };
  return { dataDir: join(folder, 'data'), cacheDir: join(folder, cache), env, onProgress: () => undefined };
}

function writeAptProgram(script: string): void {
  writeProgram(join(bin, 'apt-get'), script);
}

function writeProgram(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function writePackage(name: string, files: Record<string, string>): void {
  const root = join(folder, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o755 });
  }
  mkdirSync(join(root, 'DEBIAN'));
  const control = `Package: ${name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <a@example.com>\nDescription: none\n`;
  writeFileSync(join(root, 'DEBIAN/control'), control);
  execFileSync(packer!, ['-b', root, join(shop, `${name}.deb`)], { stdio: 'ignore' });
}

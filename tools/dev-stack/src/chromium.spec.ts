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
import { cachedChromium, installedChromium } from './chromium';

const folder = mkdtempSync(join(tmpdir(), 'muster-chromium-'));
const shop = join(folder, 'shop');
const bin = join(folder, 'bin');
const packer = ['/usr/bin/dpkg-deb', '/bin/dpkg-deb'].find((path) => existsSync(path));

beforeAll(() => {
  mkdirSync(shop);
  mkdirSync(bin);
  for (const tool of ['sh', 'cat', 'cp', 'dpkg-deb', 'tar', 'rm', 'echo', 'sleep', 'kill']) {
    const path = ['/usr/bin', '/bin'].map((place) => join(place, tool)).find((each) => existsSync(each));
    if (path) symlinkSync(path, join(bin, tool));
  }
  if (!packer) return;
  packaged('chromium', {
    'usr/lib/chromium/chromium': '#!/bin/sh\necho "Chromium 1 $LD_LIBRARY_PATH $FONTCONFIG_FILE"\n',
  });
  packaged('libpulse0', { 'usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so': '' });
  packaged('libnss3', { 'usr/lib/x86_64-linux-gnu/libnss3.so': '', 'usr/lib/x86_64-linux-gnu/share/a.txt': '' });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('takes the one that is named, or one on PATH that runs', async () => {
  await expect(installedChromium({ CHROMIUM: '/opt/mine', PATH: bin })).resolves.toBe('/opt/mine');
  await expect(installedChromium({ PATH: bin })).resolves.toBeNull();
  const place = join(folder, 'place');
  program(join(place, 'chromium'), 'exit 1');
  program(join(place, 'google-chrome'), 'exit 0');
  await expect(installedChromium({ PATH: `relative:${bin}:${place}` })).resolves.toBe(join(place, 'google-chrome'));
});

it('says why there is none', async () => {
  await expect(cachedChromium(setting('none'))).resolves.toEqual(['apt-get is not installed']);
  apt(`[ "$1" = --version ] && exit 0; echo "E: Unable to locate package chromium"; exit 100`);
  await expect(cachedChromium(setting('none'))).resolves.toEqual(['Unable to locate package chromium']);
  expect(readdirSync(join(folder, 'none'))).toEqual([]);
});

(packer ? it : it.skip)('fetches the package and what it needs once, and runs it from where it is kept', async () => {
  apt(`
    case "$*" in
      *--version*) ;;
      *--print-uris*Dir::Cache::archives=*) for each in libpulse0 libnss3 chromium; do
        echo "'http://debian/pool/$each.deb' \${each}_1_amd64.deb 1 MD5Sum:0"; done ;;
      *download*) cp ${shop}/*.deb . ; echo "$*" >> ${shop}/downloads ;;
      *) exit 100 ;;
    esac`);
  const said: string[] = [];
  const found = await cachedChromium({ ...setting('cache'), onProgress: (line) => said.push(line) });
  const kept = dirname(found as string);
  expect(said).toEqual([
    'chromium: downloading libpulse0 libnss3 chromium (apt-get download)',
    `chromium: cached in ${kept}`,
  ]);
  const places = ['usr/lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu/pulseaudio'].map((each) => join(kept, each));
  const output = execFileSync(found as string, { encoding: 'utf8' })
    .trim()
    .split(' ');
  expect(output[2]!.split(':').sort()).toEqual(places);
  expect(output[3]).toBe(join(kept, 'fonts.conf'));
  await expect(cachedChromium(setting('cache'))).resolves.toBe(found);
  expect(
    execFileSync('cat', [join(shop, 'downloads')], { encoding: 'utf8' })
      .trim()
      .split('\n'),
  ).toHaveLength(1);
  expect(readdirSync(dirname(kept))).toHaveLength(1);
});

function setting(cache: string) {
  const env = { PATH: bin, HOME: folder };
  return { dataDir: join(folder, 'data'), cacheDir: join(folder, cache), env, onProgress: () => undefined };
}

function apt(script: string): void {
  program(join(bin, 'apt-get'), script);
}

function program(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function packaged(name: string, files: Record<string, string>): void {
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

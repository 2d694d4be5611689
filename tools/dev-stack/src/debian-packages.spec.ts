import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DebianPackages } from './debian-packages';

const hasApt = ['apt-get', 'dpkg-deb'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const folder = mkdtempSync(join(tmpdir(), 'muster-apt-'));
const aptArchives = join(folder, 'cache/archives');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Sets up the real apt with one repository in a folder and no installed package. */
function buildRepository(packages: { name: string; depends?: string }[]): NodeJS.ProcessEnv {
  for (const each of ['repository', 'lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, each), { recursive: true });
  const stanzas = packages.map(({ name, depends }) => {
    const file = `${name}_1_all.deb`;
    const source = join(folder, name);
    mkdirSync(join(source, 'DEBIAN'), { recursive: true });
    mkdirSync(join(source, 'usr/lib'), { recursive: true });
    writeFileSync(join(source, 'usr/lib', `${name}.so`), name);
    const control = `Package: ${name}\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.com>\n${depends ? `Depends: ${depends}\n` : ''}Description: ${name}\n`;
    writeFileSync(join(source, 'DEBIAN/control'), control);
    execFileSync('dpkg-deb', ['-b', source, join(folder, 'repository', file)], { stdio: 'ignore' });
    const bytes = readFileSync(join(folder, 'repository', file));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return `${control}Filename: ./${file}\nSize: ${bytes.length}\nSHA256: ${sha256}\n`;
  });
  writeFileSync(join(folder, 'repository/Packages'), stanzas.join('\n'));
  writeFileSync(join(folder, 'sources.list'), `deb [trusted=yes] file:${folder}/repository ./\n`);
  writeFileSync(join(folder, 'status'), '');
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': folder,
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': 'root',
  };
  const config = join(folder, 'apt.conf');
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(''),
  );
  const env = { ...process.env, APT_CONFIG: config };
  execFileSync('apt-get', ['-q', 'update'], { env, stdio: 'ignore' });
  return env;
}

(hasApt ? it : it.skip)(
  'Debian packages are downloaded even if apt has already cached some of their archives',
  async () => {
    const env = buildRepository([
      { name: 'muster-probe', depends: 'muster-probe-library' },
      { name: 'muster-probe-library' },
    ]);
    copyFileSync(
      join(folder, 'repository/muster-probe-library_1_all.deb'),
      join(aptArchives, 'muster-probe-library_1_all.deb'),
    );
    const work = mkdtempSync(join(folder, 'work-'));
    const debian = new DebianPackages(work, env, () => undefined, 'probe');
    const { packages, fault } = await debian.findMissingPackages('muster-probe');
    expect({ packages, fault }).toEqual({ packages: ['muster-probe-library', 'muster-probe'], fault: undefined });
    const { archives } = await debian.downloadPackages(packages);
    expect(archives).toHaveLength(2);
    const root = join(work, 'root');
    mkdirSync(root);
    await debian.extractPackages(archives, root);
    for (const name of packages) expect(existsSync(join(root, 'usr/lib', `${name}.so`))).toBe(true);
  },
);

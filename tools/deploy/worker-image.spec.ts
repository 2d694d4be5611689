import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readText, repositoryRoot } from './deployment.harness';

const dockerfile = readText('docker/worker.Dockerfile');
const [build, image] = dockerfile.split(/^FROM .*$/m).slice(1) as [string, string];

describe('the worker’s image', () => {
  it('the worker’s image installs the programs that the worker’s commands need', () => {
    const installed = /apt-get install [^\\]*\\\n\s+(.*) \\/.exec(image)![1]!.split(' ');
    expect(installed).toEqual(
      expect.arrayContaining(['python3', 'python3-pil', 'ffmpeg', 'chromium', 'ca-certificates']),
    );
  });

  it('the worker’s image runs as a user other than root, who owns the worker’s folder', () => {
    const user = /^USER (\d+):(\d+)$/m.exec(image)!;
    expect(Number(user[1])).toBeGreaterThan(0);
    const folder = /^VOLUME (\S+)$/m.exec(image)![1]!;
    expect(image).toContain(`chown ${user[1]}:${user[2]} ${folder}`);
    expect(/MUSTER_WORKER_DIR=(\S+)/.exec(image)![1]).toMatch(new RegExp(`^${folder}/`));
  });

  it('the files that the worker’s image copies are enough to build the worker', () => {
    const copies = [...build.matchAll(/^COPY (.*)$/gm)].flatMap(([, words]) => words!.split(' ').slice(0, -1));
    const [command, ...args] = /^RUN (node .*)$/m.exec(build)![1]!.split(' ');
    const folder = mkdtempSync(join(tmpdir(), 'muster-worker-image-'));
    try {
      for (const path of copies) {
        expect(existsSync(join(repositoryRoot, path))).toBe(true);
        cpSync(join(repositoryRoot, path), join(folder, path), { recursive: true });
      }
      symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
      const made = spawnSync(command!, args, { cwd: folder, encoding: 'utf8' });
      expect([made.status, made.stderr]).toEqual([0, '']);
      const file = /--from=build \/app\/(\S+) (\S+)$/m.exec(image)!;
      expect(readFileSync(join(folder, file[1]!), 'utf8')).toContain('muster_imaging');
      expect(image).toContain(`CMD ["node", "${file[2]}"]`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('the worker’s image ignores all files that the Dockerfile does not copy', () => {
    const ignored = readText('docker/worker.Dockerfile.dockerignore').split('\n');
    expect(ignored.find((line) => line && !line.startsWith('#'))).toBe('*');
  });
});

import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@muster/platform';
import { AgentFolder } from './agent-folder';
import { unconfined } from './confinement';

describe('the folder of a local agent', () => {
  let root: string;

  beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'muster-folder-'))));
  afterEach(() => rm(root, { recursive: true }));

  it('the folder of a local machine without its own system account belongs to the user of the service', async () => {
    const folder = new AgentFolder(root, newId());
    expect(await folder.prepareMachine(unconfined)).toBeNull();
    expect([folder.readAccount(), existsSync(folder.machine)]).toEqual([null, true]);
    expect(statSync(folder.machine).uid).toBe(process.getuid!());
  });
});

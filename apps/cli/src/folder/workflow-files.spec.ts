import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LastSeen } from './last-seen';
import { readWorkflows, writeWorkflow } from './workflow-files';

describe('a folder of workflows', () => {
  let folder: string;
  let secret: string;

  beforeEach(() => {
    const base = mkdtempSync(join(tmpdir(), 'muster-folder-'));
    folder = join(base, 'workflows');
    secret = join(base, 'secret');
    mkdirSync(join(folder, 'claims'), { recursive: true });
    writeFileSync(secret, 'hunter2');
    writeFileSync(join(folder, 'claims/workflow.json'), '{"name":"Claims"}');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

  const claims = {
    folder: 'claims',
    id: 'w',
    content: {
      name: 'Claims',
      description: '',
      variables: [],
      maxCostUsd: null,
      workflowPackInstallationId: null,
      script: 'print(1)',
      steps: [{ action: 'click' }],
    },
  };
  const refused = /is a symbolic link, which is not followed/;

  it('a workflow that was written to a folder is read back unchanged', () => {
    writeWorkflow(folder, claims);
    expect(readWorkflows(folder)).toEqual([claims]);
  });

  it.each(['claims/script.py', 'claims/steps.json', 'claims/workflow.json'])(
    'a workflow is neither read nor written if its file %s is a symbolic link',
    (name) => {
      rmSync(join(folder, name), { force: true });
      symlinkSync(secret, join(folder, name));
      expect(() => readWorkflows(folder)).toThrow(refused);
      expect(() => writeWorkflow(folder, claims)).toThrow(refused);
      expect(readFileSync(secret, 'utf8')).toBe('hunter2');
    },
  );

  it('a workflow is neither read nor written if its folder is a symbolic link', () => {
    const elsewhere = join(folder, '../elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'workflow.json'), '{"name":"Other"}');
    symlinkSync(elsewhere, join(folder, 'linked'));
    expect(() => readWorkflows(folder)).toThrow(refused);
    expect(() => writeWorkflow(folder, { ...claims, folder: 'linked' })).toThrow(refused);
    expect(existsSync(join(elsewhere, 'script.py'))).toBe(false);
  });

  it.each(['.gitattributes', '.muster.json'])(
    'a folder of workflows is not written if its file %s is a symbolic link',
    (name) => {
      symlinkSync(secret, join(folder, name));
      const writeWorkflowAndDigests = () => {
        writeWorkflow(folder, claims);
        new LastSeen(folder, 'https://muster.example').saveDigests();
      };
      expect(writeWorkflowAndDigests).toThrow(refused);
      expect(readFileSync(secret, 'utf8')).toBe('hunter2');
    },
  );
});

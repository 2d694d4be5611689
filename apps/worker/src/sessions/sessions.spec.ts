import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noBrowser } from '../browser/extensions';
import { type Command } from '../protocol/command';
import { Sessions, type SessionsOptions } from './sessions';

describe('the sessions of a worker', () => {
  it('a worker without a browser opens no session and says what is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-sessions-'));
    const base = { CHROMIUM: join(folder, 'no-such-browser') };
    const sessions = new Sessions({
      folder,
      base,
      python: 'python3',
      log: () => undefined,
    } as unknown as SessionsOptions);
    try {
      const command = { commandId: 'c', kind: 'autopilot_open', jobId: null, payload: { sessionId: 's' } };
      expect(await sessions.performCommand(command as unknown as Command)).toEqual(noBrowser);
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      await sessions.endAll();
      rmSync(folder, { recursive: true });
    }
  });
});

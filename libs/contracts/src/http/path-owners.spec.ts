import { findOwnerApp, pathOwners } from './path-owners';

describe('the table of path owners', () => {
  it.each([
    ['/', 'gateway'],
    ['/app/agents', 'gateway'],
    ['/api/agents', 'gateway'],
    ['/api/agents/0192/status', 'gateway'],
    ['/api/agents/0192/step-status', 'ingest'],
    ['/api/agents/0192/step-status/x', 'gateway'],
    ['/api/agents/handshake', 'ingest'],
    ['/api/agent/heartbeat', 'ingest'],
    ['/api/agents/0192/commands', 'ingest'],
    ['/api/agents/0192/commands/7/result', 'ingest'],
    ['/api/jobs/0192/claim-results', 'ingest'],
    ['/api/jobs/0192', 'gateway'],
    ['/api/webhooks/codehost/feedback', 'ingest'],
    ['/api/cron/stale-jobs', 'scheduler'],
    ['/api/cronies', 'gateway'],
  ])('the table of path owners routes %s to %s', (path, app) => expect(findOwnerApp(path)).toBe(app));

  it('the table of path owners ends with a row that matches every other path', () => {
    expect(pathOwners.at(-1)).toEqual({ path: '/*', app: 'gateway' });
  });
});

// This test is long because it signs in with device codes and second factors in a real terminal.
// A short test of the same code: apps/gateway/src/auth/device.spec.ts
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeAuthenticatorCode, HttpClient } from '@muster/testing';
import { openPracticeOrganization, type Practice } from '../shared-service';
import { CliFixture } from './cli-fixture';

jest.setTimeout(240_000);

describe('muster login', () => {
  let folder: string;
  let practice: Practice;
  let base: string;
  let password: string;
  let email: string;
  let apiKey: string;
  let api: HttpClient;
  let cli: CliFixture;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-cli-logins-'));
    practice = await openPracticeOrganization();
    ({ address: base, apiKey } = practice);
    [email, password] = practice.admin;
    api = new HttpClient(base).withKey(apiKey);
    cli = await CliFixture.createFixture(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const getLoginsPath = () => join(cli.home, '.config/muster/logins.json');
  const runCliSuccessfully = async (...args: string[]) => {
    const result = await cli.runCli(args);
    expect([result.code, result.err]).toEqual([0, expect.any(String)]);
    return result.out;
  };

  it('muster login is confirmed in a browser, or accepts an API key that is pasted while it waits', async () => {
    const at = cli.startTyping(['login', '--url', base, '--context', 'browser']);
    await at.waitForText('Or paste an API key');
    const [, code] = /device\?code=([A-Z]{4}-[A-Z]{4})/.exec(at.output)!;
    const admin = await new HttpClient(base).signIn(email, password);
    expect((await admin.post('/api/auth/device/answer', { userCode: code, allow: true })).status).toBe(200);
    expect([await at.exit, at.output]).toEqual([0, expect.stringContaining(`Signed in to ${practice.name}`)]);
    const { apiKey: fetched } = JSON.parse(readFileSync(getLoginsPath(), 'utf8')).contexts.browser;
    expect(JSON.parse(await runCliSuccessfully('whoami', '--json'))).toMatchObject({
      user: { role: 'member' },
      url: base,
    });
    await runCliSuccessfully('logout', '--context', 'browser');
    expect((await api.withKey(fetched).get('/api/auth/me')).status).toBe(401);

    const pasted = cli.startTyping(['login', '--url', base, '--context', 'pasted']);
    await pasted.waitForText('Or paste an API key');
    pasted.typeText(`${apiKey}\r`);
    expect([await pasted.exit, pasted.output]).toEqual([0, expect.not.stringContaining(apiKey)]);
    await runCliSuccessfully('logout', '--context', 'pasted');
    expect((await api.get('/api/auth/me')).status).toBe(200);
  });

  it('muster login asks for a second factor, and explains the alternative if there is no terminal', async () => {
    const dana = `dana-${Date.now()}@example.com`;
    const admin = await new HttpClient(base).signIn(email, password);
    expect((await admin.post('/api/users', { email: dana, password, role: 'viewer' })).status).toBe(201);
    const session = await new HttpClient(base).signIn(dana, password);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const code = computeAuthenticatorCode(secret, new Date());
    expect((await session.post('/api/auth/totp/confirm', { code })).status).toBe(200);
    const piped = await cli.runCli(['login', '--url', base, '--email', dana, '--context', 'dana'], { input: password });
    expect(piped).toMatchObject({ code: 2, err: expect.stringContaining('muster login --key -') });
    const loginWithProof = async (proof: string) => {
      const at = cli.startTyping(['login', '--url', base, '--email', dana, '--context', 'dana']);
      await at.waitForText(`Password of ${dana}:`);
      at.typeText(`${password}\r`);
      await at.waitForText('Code of your authenticator app');
      at.typeText(`${proof}\r`);
      return [await at.exit, at.output] as const;
    };
    const [refused, message] = await loginWithProof(code);
    expect([refused, message]).toEqual([expect.any(Number), expect.stringContaining('it was used before')]);
    expect(refused).not.toBe(0);
    expect((await loginWithProof(computeAuthenticatorCode(secret, new Date(), 1)))[0]).toBe(0);
    await runCliSuccessfully('logout', '--context', 'dana');
  });
});

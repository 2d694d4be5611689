import { runMigrations } from './migrate';

describe('migrate', () => {
  it('the program migrate reports a missing variable in one line', async () => {
    const { exitCode, message } = await runMigrations({});
    expect(exitCode).toBe(1);
    expect(message).toMatch(/^migrate: DATABASE_URL is missing: [^\n]+$/);
  });

  it('the program migrate reports an unreachable database in one line without the password', async () => {
    const { exitCode, message } = await runMigrations({ DATABASE_URL: 'postgres://owner:pa55word@127.0.0.1:1/muster' });
    expect(exitCode).toBe(1);
    expect(message).toMatch(/^migrate: the database was not migrated: [^\n]*ECONNREFUSED[^\n]*$/);
    expect(message).not.toContain('pa55word');
  });
});

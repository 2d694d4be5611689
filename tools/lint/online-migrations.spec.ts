// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { exempt, findLockingStatements } from './online-migrations.mjs';

const name = 'libs/database/src/migrations/1900000000000-later.ts';
const buildMigration = (sql: string, { before = '' } = {}) =>
  `export class Later1900000000000 {\n  ${before}\n  async up(runner) {\n    await runner.query(\`${sql}\`);\n  }\n\n` +
  '  async down(runner) {\n    await runner.query(`ALTER TABLE job ALTER COLUMN a TYPE text`);\n  }\n}\n';

describe('a new migration', () => {
  const locks: Record<string, RegExp> = {
    'CREATE INDEX job_a_idx ON job (a)': /job: blocks writes while it creates an index/,
    'CREATE UNIQUE INDEX job_a_idx ON job USING btree (a)': /job: blocks writes while it creates an index/,
    'ALTER TABLE job ALTER COLUMN a TYPE bigint': /job: rewrites the table; add a column/,
    'ALTER TABLE job ADD COLUMN a uuid NOT NULL DEFAULT gen_random_uuid()': /job: rewrites the table for a value/,
    'ALTER TABLE job ADD a int, ALTER COLUMN b SET NOT NULL': /job: reads the whole table while it is locked/,
    'ALTER TABLE job ADD CONSTRAINT job_a_check CHECK (a > 0)': /job: reads the whole table/,
    'ALTER TABLE job ADD CONSTRAINT job_a_fk FOREIGN KEY (a) REFERENCES agent': /job: reads the whole table/,
    'ALTER TABLE job ADD CONSTRAINT job_a_key UNIQUE (a)': /job: blocks writes while it creates an index/,
    'UPDATE job SET a = b': /job: changes all rows in one statement/,
    'DELETE FROM job WHERE a IS NULL': /job: changes all rows/,
    'LOCK TABLE job IN ACCESS EXCLUSIVE MODE': /job: takes an explicit lock/,
    'SET lock_timeout = 0; ALTER TABLE job ADD a int': /waits for locks without a limit/,
  };
  for (const [sql, fault] of Object.entries(locks))
    it(`a new migration may not run: ${sql}`, () =>
      expect(findLockingStatements(name, buildMigration(sql))).toEqual([expect.stringMatching(fault)]));

  const online = [
    'ALTER TABLE job ADD COLUMN a text',
    "ALTER TABLE job ADD COLUMN a text NOT NULL DEFAULT 'x', ADD b timestamptz DEFAULT now()",
    'ALTER TABLE job ADD CONSTRAINT job_a_check CHECK (a IS NOT NULL) NOT VALID',
    'ALTER TABLE job VALIDATE CONSTRAINT job_a_check; ALTER TABLE job ALTER COLUMN a SET NOT NULL',
    'ALTER TABLE job ADD CONSTRAINT job_a_key UNIQUE USING INDEX job_a_idx',
    'CREATE TABLE thing (id uuid PRIMARY KEY); CREATE INDEX thing_id_idx ON thing (id); INSERT INTO thing SELECT 1',
    'UPDATE job SET a = b WHERE id IN (SELECT id FROM job WHERE id > $1 ORDER BY id LIMIT 1000)',
    '-- a comment on CREATE INDEX a ON job',
  ];
  for (const sql of online)
    it(`a new migration may run: ${sql}`, () => expect(findLockingStatements(name, buildMigration(sql))).toEqual([]));

  it('a new migration may create an index CONCURRENTLY outside a transaction', () => {
    const sql = 'SET lock_timeout = 0; CREATE INDEX CONCURRENTLY job_a_idx ON job (a)';
    expect(findLockingStatements(name, buildMigration(sql, { before: 'transaction = false;' }))).toEqual([]);
  });

  it('a migration that the lint exempts is not checked', () => {
    const [first] = exempt as Set<string>;
    expect(
      findLockingStatements(`libs/database/src/migrations/${first}.ts`, buildMigration('UPDATE job SET a = b')),
    ).toEqual([]);
  });
});

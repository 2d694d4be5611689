import { migrateDatabase } from '@muster/database';
import { ConfigError, type Environment, EnvUrl, loadConfig } from '@muster/platform';

/**
 * Configuration of the migrations. A deployment can run them as the owner of the tables, and the apps as another user.
 */
export class MigrateConfig {
  @EnvUrl('DATABASE_URL', {
    description:
      'URL of the Postgres database (version 15 or newer), with a user that owns the tables and can create roles.',
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
  })
  readonly databaseUrl!: string;
}

export interface MigrateOutcome {
  exitCode: 0 | 1;
  message: string;
}

/** Migrates the database to the version of this image, and returns one sentence about the outcome. */
export async function runMigrations(env: Environment): Promise<MigrateOutcome> {
  try {
    const { databaseUrl } = loadConfig(MigrateConfig, env);
    const ran = await migrateDatabase(databaseUrl);
    return {
      exitCode: 0,
      message: ran.length ? `migrate: ran ${ran.join(', ')}` : 'migrate: nothing to do, the database is up to date',
    };
  } catch (error) {
    return { exitCode: 1, message: `migrate: ${describeError(error)}` };
  }
}

function describeError(error: unknown): string {
  if (error instanceof ConfigError) return error.faults.join('; ');
  const { message, code } = error as { message?: string; code?: string };
  // A refused connection is an AggregateError, whose own message is empty.
  return `the database was not migrated: ${message || code || String(error)}`.replaceAll(/\s+/g, ' ');
}

if (require.main === module) {
  void runMigrations(process.env).then(({ exitCode, message }) => {
    (exitCode ? process.stderr : process.stdout).write(`${message}\n`);
    process.exitCode = exitCode;
  });
}

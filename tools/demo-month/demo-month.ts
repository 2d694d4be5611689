import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { hash } from '@node-rs/argon2';
import { AppError } from '@muster/contracts';
import { openStartDatabase } from '../rollups/start-database';
import { makeMonth } from './make-month';

const usage = `npm run demo-month [-- --runs N] [--name NAME] [--email ADDRESS]

Creates an organization with a month of runs, claims and costs in the service of npm start (DATABASE_URL or
MUSTER_DATA_DIR), to try out the console. Its machines do not exist and its schedules are paused, so nothing in it starts
automatically.

  --runs N         number of runs, from 1 to 200000 (6000)
  --name NAME      name of the organization (Riverbend Dental)
  --email ADDRESS  e-mail address of its admin (demo@muster.local)
`;

async function runDemoMonth(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      runs: { type: 'string', default: '6000' },
      name: { type: 'string', default: 'Riverbend Dental' },
      email: { type: 'string', default: 'demo@muster.local' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return printLine(usage);
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1 || runs > 200_000)
    throw new Error('--runs must be a number from 1 to 200000.');
  const password = randomBytes(12).toString('base64url');
  const { database, close } = await openStartDatabase();
  try {
    const { name, email } = values;
    await makeMonth(database, {
      name,
      adminEmail: email,
      adminPasswordHash: await hash(password),
      runs,
      days: 30,
      until: new Date(),
      random: Math.random,
      say: (line) => void printLine(`  ${line}\n`),
    });
    return printLine(
      `${name} was created. Its admin signs in as ${email} with the password ${password} (not shown again).\n`,
    );
  } finally {
    await close();
  }
}

function printLine(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

runDemoMonth(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: Error) => {
    const hint = error instanceof AppError && error.code === 'conflict' ? ' Choose another address with --email.' : '';
    process.stderr.write(`demo-month: ${error.message}${hint}\n`);
    process.exit(2);
  },
);

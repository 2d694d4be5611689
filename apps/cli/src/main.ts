import { readEnvironment } from './frame/environment';
import { runCli } from './frame/run-cli';

// Hides the command line, which can contain keys and variables, from the process list that every user can read.
process.title = 'muster';

process.stdout.on('error', handleWriteError);
process.stderr.on('error', () => undefined);

void runCli(process.argv.slice(2), readEnvironment()).then((code) => {
  // If stdout is a file, a failed write is reported only to this callback.
  process.stdout.write('', (error) => (error ? handleWriteError(error) : exitAfterOutput(code)));
});

/** Exits with 0 if the reader closed the pipe. Reports any other write error, such as a full disk. */
function handleWriteError({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`muster: The output cannot be written: ${message}\n`);
  exitAfterOutput(1);
}

function exitAfterOutput(code: number): void {
  process.stderr.write('', () => process.exit(code));
}

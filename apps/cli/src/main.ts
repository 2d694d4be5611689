import { readEnvironment } from './frame/environment';
import { runCli } from './frame/run-cli';

// Hides the command line from the process list, which every user of the machine can read. The command line can contain
// API keys and values of variables.
process.title = 'muster';

process.stdout.on('error', handleWriteError);
process.stderr.on('error', () => undefined);

void runCli(process.argv.slice(2), readEnvironment()).then((code) => {
  // A failed write to stdout is reported only to this callback if stdout is a file.
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

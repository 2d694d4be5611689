import { readEnvironment } from './frame/environment';
import { runCli } from './frame/run-cli';

// A key or a variable that was typed is seen by every user of the machine, in its list of processes.
process.title = 'muster';

process.stdout.on('error', notWritten);
process.stderr.on('error', () => undefined);

void runCli(process.argv.slice(2), readEnvironment()).then((code) => {
  // What was written to a file fails only here.
  process.stdout.write('', (error) => (error ? notWritten(error) : end(code)));
});

/** Whoever reads our output may have had enough of it; a full disk has lost it. */
function notWritten({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`muster: The output cannot be written: ${message}\n`);
  end(1);
}

function end(code: number): void {
  process.stderr.write('', () => process.exit(code));
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getDevFolder, buildEnvironment, readEnvironment } from './environment';
import { type Joined, joinStack, getStackLogPath } from './join-stack';
import type { StackMessage } from './messages';
import { isBuiltFrom, portOf, publicUrl, type Served } from './ports';
import { ServedApp } from './served-app';

/** Runs one app on the shared development stack until a signal ends it. */
export async function serveApp(name: Served, root: string): Promise<void> {
  const printLine = (line: string) => console.log(`serve ${name}: ${line}`);
  let app: ServedApp | undefined;
  let joined: Joined | undefined;
  let alone: boolean | undefined;

  const endWithCode = async (exitCode: number): Promise<never> => {
    await app?.stop();
    joined?.leave();
    process.exit(exitCode);
  };
  const failWithError = (error: unknown) => {
    printLine((error as Error).message);
    void endWithCode(1);
  };
  endOnSignals(() => void endWithCode(0));

  const handleMessage = async (message: StackMessage): Promise<void> => {
    switch (message.kind) {
      case 'progress':
        if (joined?.isFirst) printLine(message.line);
        return;
      case 'ready': {
        if (joined?.isFirst) await printAddresses(root, message.firstStart, printLine);
        const env = buildEnvironment(name, await readEnvironment(root), process.env);
        app = new ServedApp(join(root, getMainFile(name)), env, printLine);
        if (name !== 'standalone') await app.start();
        return;
      }
      case 'alone':
        if (message.alone === alone) return;
        alone = message.alone;
        if (alone) return app?.start();
        printLine('idle while any of the six apps is served, because it would run them a second time');
        return app?.stop();
      case 'changed': {
        const ownFiles = message.files.filter((file) => isBuiltFrom(name, file));
        if (!ownFiles.length || !app?.isWanted) return;
        printLine(`${ownFiles.slice(0, 3).join(', ')}${ownFiles.length > 3 ? ' …' : ''} changed: restarting`);
        return app.start();
      }
      case 'broken':
        if (app?.isWanted && message.files.some((file) => isBuiltFrom(name, file)))
          printLine(`the build failed: ${message.error}`);
        return;
      case 'failed':
        throw new Error(message.error);
      case 'welcome':
        return;
    }
  };

  printLine(`joining the development stack; the app will listen on port ${portOf[name]}`);
  // Messages are processed in their order, and only after the result of joining is known.
  let turn: Promise<unknown> = new Promise<void>((resolve) => {
    joinStack({
      app: name,
      root,
      onMessage: (message) => {
        turn = turn.then(() => handleMessage(message)).catch(failWithError);
      },
      lost: () => failWithError(new Error(`the development stack has ended, see ${getStackLogPath(root)}`)),
    }).then((result) => {
      joined = result;
      resolve();
    }, failWithError);
  });
}

function getMainFile(name: Served): string {
  return name === 'dev-proxy' ? 'dist/tools/dev-proxy/src/main.js' : `dist/apps/${name}/src/main.js`;
}

/**
 * Prints the address of the stack, and the accounts if they are new. Only the process that started the stack calls it.
 */
async function printAddresses(root: string, firstStart: boolean, say: (line: string) => void): Promise<void> {
  const folder = getDevFolder(root);
  say(`all apps together: ${publicUrl} (nx run-many -t serve); data and logs: ${folder}`);
  if (!firstStart) return;
  const text = await readFile(join(folder, 'first-start.json'), 'utf8');
  say(`the first organization, shown once and stored in ${join(folder, 'first-start.json')}:`);
  for (const [variable, value] of Object.entries(JSON.parse(text) as Record<string, string>)) {
    say(`  ${variable.replace('BOOTSTRAP_', '').toLowerCase().replaceAll('_', ' ').padEnd(20)} ${value}`);
  }
}

function endOnSignals(end: () => void): void {
  let ending = false;
  const endOnce = () => {
    if (ending) return;
    ending = true;
    end();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, endOnce);
  // The parent process may have been killed without forwarding a signal.
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && endOnce(), 1000).unref();
}

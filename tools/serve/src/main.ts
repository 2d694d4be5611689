import { isServedName, portOf } from './ports';
import { serveApp } from './serve-app';
import { runStack } from './stack';

export async function runServe([name, startedBy]: string[], root: string): Promise<void> {
  if (name === 'stack') await runStack(root, startedBy);
  else if (isServedName(name)) await serveApp(name, root);
  else {
    const names = Object.keys(portOf).filter(isServedName).join(', ');
    console.error(`serve: ${name ? `unknown app ${name}` : 'no app was specified'}; choose from ${names}`);
    process.exitCode = 1;
  }
}

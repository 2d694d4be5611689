import { isServed, portOf } from './ports';
import { serve } from './serve';
import { runStack } from './stack';

export async function main([name, startedBy]: string[], root: string): Promise<void> {
  if (name === 'stack') await runStack(root, startedBy);
  else if (isServed(name)) await serve(name, root);
  else {
    const names = Object.keys(portOf).filter(isServed).join(', ');
    console.error(`serve: ${name ? `unknown app ${name}` : 'no app was specified'}; choose from ${names}`);
    process.exitCode = 1;
  }
}

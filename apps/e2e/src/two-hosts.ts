import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { existsSync } from 'node:fs';

const runIpCommand = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Whether this process can create network namespaces, which requires root. */
export function canMakeHosts(): boolean {
  const probe = `muster-probe-${process.pid}`;
  try {
    runIpCommand('netns', 'add', probe);
    runIpCommand('netns', 'del', probe);
    return true;
  } catch {
    return false;
  }
}

/** Two network namespaces that are connected only with each other. Each has a loopback and an address. */
export class TwoHosts {
  readonly service = { name: `muster-s${process.pid}`, address: '10.231.77.1' };
  readonly worker = { name: `muster-w${process.pid}`, address: '10.231.77.2' };
  private readonly children: ChildProcess[] = [];
  private bridge?: Server;

  constructor() {
    const ends = [`ms${process.pid}`, `mw${process.pid}`];
    for (const { name } of [this.service, this.worker]) runIpCommand('netns', 'add', name);
    runIpCommand('link', 'add', ends[0]!, 'type', 'veth', 'peer', 'name', ends[1]!);
    for (const [at, { name, address }] of [this.service, this.worker].entries()) {
      runIpCommand('link', 'set', ends[at]!, 'netns', name);
      runIpCommand('-n', name, 'addr', 'add', `${address}/30`, 'dev', ends[at]!);
      runIpCommand('-n', name, 'link', 'set', ends[at]!, 'up');
      runIpCommand('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  /** The command prefix that runs another command on the host. */
  static buildHostPrefix({ name }: { name: string }): string[] {
    return ['ip', 'netns', 'exec', name];
  }

  runOnHost(host: { name: string }, command: string[], env: NodeJS.ProcessEnv, folder: string): ChildProcess {
    const [program, ...programArgs] = [...TwoHosts.buildHostPrefix(host), ...command];
    const child = spawn(program!, programArgs, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.children.push(child);
    return child;
  }

  /** Makes the service's port reachable from the test. Returns the base URL. */
  async exposePort(port: number, folder: string): Promise<string> {
    const path = join(folder, 'front.sock');
    const relay = `const net = require('net'); net.createServer((one) => {
      const other = net.connect(${port}, '${this.service.address}');
      one.pipe(other).pipe(one); one.on('error', () => other.destroy()); other.on('error', () => one.destroy());
    }).listen('${path}')`;
    this.runOnHost(this.service, [process.execPath, '-e', relay], { PATH: process.env['PATH'] }, folder);
    await waitFor('the relay', () => existsSync(path));
    this.bridge = createServer((one) => {
      const other = connect(path);
      one.pipe(other).pipe(one);
      one.on('error', () => other.destroy());
      other.on('error', () => one.destroy());
    });
    this.bridge.listen(0, '127.0.0.1');
    await once(this.bridge, 'listening');
    return `http://127.0.0.1:${(this.bridge.address() as AddressInfo).port}`;
  }

  async remove(): Promise<void> {
    this.bridge?.close();
    for (const child of this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    for (const { name } of [this.service, this.worker]) runIpCommand('netns', 'del', name);
  }
}

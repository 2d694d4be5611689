import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Muster, MusterError } from '@muster/sdk';
import { deviceBegin, type DeviceCodes, deviceToken } from '@muster/sdk/operations';
import type { Call } from '../frame/command';
import { exitCodes, Failure } from '../frame/failure';

/** Requests a login for this machine, and prints the page where a person can approve it. */
export async function requestDeviceLogin({ terminal, environment }: Call, url: string): Promise<DeviceCodes> {
  const { client } = new Muster({ baseUrl: url });
  const codes = await deviceBegin({ client, body: { client_id: 'muster', device_name: `muster on ${hostname()}` } });
  terminal.printMessage(
    `Open ${codes.verification_uri_complete}\nand approve the login with the code ${codes.user_code}.`,
  );
  if (terminal.canAsk && environment.hasDisplay) openBrowser(codes.verification_uri_complete);
  return codes;
}

/** Waits until a person approves the login, and returns the API key. Returns undefined if the signal aborts. */
export async function waitForDeviceKey(
  url: string,
  codes: DeviceCodes,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { client } = new Muster({ baseUrl: url });
  let seconds = codes.interval;
  while (await waitUnlessAborted(seconds, signal)) {
    try {
      return (await deviceToken({ client, body: { device_code: codes.device_code } })).access_token;
    } catch (error) {
      const { code } = error as MusterError;
      if (code === 'slow_down') seconds += 5;
      else if (code === 'access_denied' || code === 'expired_token') {
        throw new Failure(code, (error as Error).message, {
          hint: 'Try again: muster login',
          exitCode: exitCodes.refused,
        });
      } else if (code !== 'authorization_pending') throw error;
    }
  }
  return undefined;
}

async function waitUnlessAborted(seconds: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await wait(seconds * 1000, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

const openers: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens a browser. Ignores errors, because the user can also open the printed address. */
function openBrowser(address: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

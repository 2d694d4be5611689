import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Outbound } from '@muster/platform';
import { ClickUpTracker } from './clickup';
import { GitHubTracker } from './github';
import type { Tracker } from './tracker';
import { TrackerHttp } from './tracker-http';
import { TrackersConfig } from './trackers.config';

/** The configured trackers. The operator configures their addresses, so internal addresses are allowed too. */
@Injectable()
export class Trackers implements OnApplicationShutdown {
  readonly configured: readonly Tracker[];
  private readonly outbound: Outbound;

  constructor(@Inject(TrackersConfig) config: TrackersConfig) {
    const { codehostApiUrl, tasktrackerApiUrl, trackerTimeoutMs: timeoutMs } = config;
    const hosts = [codehostApiUrl, tasktrackerApiUrl].map((url) => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
    const outbound = new Outbound([...config.outboundAllow, ...hosts]);
    this.outbound = outbound;
    const trackers: Tracker[] = [];
    if (config.codehostToken && config.codehostRepository) {
      const headers = {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${config.codehostToken}`,
        'user-agent': 'muster',
        'x-github-api-version': '2022-11-28',
      };
      const http = new TrackerHttp({ tracker: 'codehost', outbound, baseUrl: codehostApiUrl, headers, timeoutMs });
      trackers.push(new GitHubTracker(config.codehostRepository, http));
    }
    if (config.tasktrackerToken && config.tasktrackerListId) {
      const headers = { accept: 'application/json', authorization: config.tasktrackerToken, 'user-agent': 'muster' };
      const http = new TrackerHttp({
        tracker: 'tasktracker',
        outbound,
        baseUrl: tasktrackerApiUrl,
        headers,
        timeoutMs,
      });
      trackers.push(new ClickUpTracker(config.tasktrackerListId, http));
    }
    this.configured = trackers;
  }

  onApplicationShutdown(): void {
    this.outbound.onApplicationShutdown();
  }
}

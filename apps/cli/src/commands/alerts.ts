import type { Command } from '../frame/command';
import { toSafeLine } from '../output/plain';
import { formatRelativeTime } from '../output/words';

const list: Command = {
  words: 'alerts',
  summary: 'List open alerts',
  options: {
    all: { type: 'boolean', about: 'Include resolved alerts' },
  },
  async runCommand(call) {
    const open = call.flag('all') ? {} : { status: 'open' as const };
    call.terminal.printTable(
      await call
        .muster()
        .alerts.list({ ...open, limit: 200 })
        .toArray(),
      [
        { title: 'RULE', cell: ({ rule }) => rule },
        { title: 'SUBJECT', cell: ({ subject }) => `${subject.type} ${toSafeLine(subject.name)}` },
        { title: 'COUNT', cell: ({ count }) => String(count) },
        { title: 'STATUS', cell: ({ status }) => status },
        { title: 'OPENED', cell: ({ openedAt }) => formatRelativeTime(openedAt) },
        { title: 'ACKNOWLEDGED BY', cell: ({ acknowledgedBy }) => (acknowledgedBy ? toSafeLine(acknowledgedBy) : '') },
        { title: 'ID', cell: ({ id }) => id },
      ],
      'There are no matching alerts.',
    );
  },
};

const acknowledge: Command = {
  words: 'acknowledge',
  args: '<alert>',
  summary: 'Acknowledge an alert',
  async runCommand(call) {
    call.terminal.printResult(await call.muster().alerts.acknowledge(call.args[0]!), 'The alert is acknowledged.');
  },
};

export const alertCommands = [list, acknowledge];

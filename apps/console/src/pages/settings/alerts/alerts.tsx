import { alertTitles } from '@muster/contracts/words';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type AlertRule,
  alertRulesList,
  type NotificationChannel,
  notificationChannelsList,
} from '../../../api/generated';
import { Button } from '../../../ui/button';
import { ErrorNote } from '../../../ui/error-note';
import { Panel, Skeleton } from '../../../ui/page';
import { PlainTable } from '../../../ui/table/plain-table';
import { modeLabels, RuleForm } from './rule-form';

const rulesKey = ['alert-rules'];
/** Maximum number of channels of an organization. */
const maxChannels = 20;

/** The alert rules: whether each is on, its options, and the channels that get its messages. */
export function Alerts() {
  const client = useQueryClient();
  const [writing, setWriting] = useState<AlertRule | null>(null);
  const rules = useQuery({ queryKey: rulesKey, queryFn: ({ signal }) => alertRulesList({ signal }) });
  const channels = useQuery({
    queryKey: ['notification-channels'],
    queryFn: ({ signal }) => notificationChannelsList({ query: { limit: maxChannels }, signal }),
  });
  const known = channels.data?.notificationChannels ?? [];
  const error = rules.error ?? channels.error;
  return (
    <Panel title="Alerts">
      <p className="mb-3 text-dim">
        A rule that is on opens an alert in the inbox, and sends it to its channels. The alert is resolved when its
        cause has ended, and the channels are notified of that too. Channels are under{' '}
        <Link to="/settings" search={{ part: 'Channels' }} className="text-accent underline">
          Channels
        </Link>
        .
      </p>
      {error && <ErrorNote error={error} retry={() => void Promise.all([rules.refetch(), channels.refetch()])} />}
      {!rules.data && !error && <Skeleton />}
      {rules.data && (
        <PlainTable label="Alert rules" heads={['Rule', 'State', 'Channels', 'Actions']}>
          {rules.data.alertRules.map((rule) => (
            <tr key={rule.rule} data-testid="alert-rule">
              <td>
                {alertTitles[rule.rule].title}
                <p className="text-xs text-dim">{describeOptions(rule)}</p>
              </td>
              <td>{rule.enabled ? 'on' : 'off'}</td>
              <td className="[overflow-wrap:anywhere]">
                <bdi>{formatChannelNames(rule.channelIds, known)}</bdi>
              </td>
              <td>
                <Button onClick={() => setWriting(rule)}>
                  Change<span className="sr-only"> {alertTitles[rule.rule].title}</span>
                </Button>
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
      {writing && (
        <RuleForm
          rule={writing}
          channels={known}
          close={() => setWriting(null)}
          changed={() => void client.invalidateQueries({ queryKey: rulesKey })}
        />
      )}
    </Panel>
  );
}

function describeOptions({ when, times, minutes, hours, percent }: AlertRule): string {
  if (when === 'in_a_row') return `${times} failed runs in a row`;
  if (when) return modeLabels[when];
  if (minutes !== undefined) return `${minutes} minutes`;
  if (hours !== undefined) return `${hours} hours`;
  return percent === undefined ? '' : `${percent} %`;
}

function formatChannelNames(ids: string[], channels: NotificationChannel[]): string {
  const names = channels.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
  return names.join(', ') || 'none';
}

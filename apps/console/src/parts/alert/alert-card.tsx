import { alertTitles } from '@muster/contracts/words';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Alert, alertsAcknowledge } from '../../api/generated';
import { usePermission } from '../../api/session';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { showErrorToast } from '../../ui/toast';
import { AgentLink, RunLink, WorkflowLink } from '../names';

/** An open alert with a link to its subject, and a button that acknowledges it. */
export function AlertCard({ alert }: { alert: Alert }) {
  const { id, rule, openedAt, count, acknowledgedBy } = alert;
  const mayAcknowledge = usePermission('alerts.write');
  const client = useQueryClient();
  const [isSending, setSending] = useState(false);
  const acknowledgeAlert = async () => {
    setSending(true);
    try {
      await alertsAcknowledge({ path: { id } });
      await client.invalidateQueries({ queryKey: ['alerts'] });
    } catch (error) {
      showErrorToast(error);
    }
    setSending(false);
  };
  return (
    <article
      data-testid="alert"
      data-id={id}
      tabIndex={-1}
      aria-labelledby={`alert-${id}`}
      className="flex min-w-0 scroll-m-4 flex-wrap items-center gap-3 rounded-panel border border-line bg-surface p-3.5"
    >
      <div className="flex min-w-0 grow flex-col gap-1">
        <h2 id={`alert-${id}`} className="font-medium">
          {alertTitles[rule].title}
        </h2>
        <p className="flex flex-wrap gap-x-3 text-xs text-dim [overflow-wrap:anywhere]">
          <Subject alert={alert} />
          <Time at={openedAt} relative />
          {count > 1 && <span>{count} times</span>}
          {acknowledgedBy && (
            <span>
              Acknowledged by <bdi>{acknowledgedBy}</bdi>
            </span>
          )}
        </p>
      </div>
      {!acknowledgedBy && mayAcknowledge && (
        <Button busy={isSending} onClick={() => void acknowledgeAlert()}>
          Acknowledge
        </Button>
      )}
    </article>
  );
}

function Subject({ alert: { subject } }: { alert: Alert }) {
  const { type, id, name } = subject;
  if (type === 'workflow') return <WorkflowLink id={id} name={name} />;
  if (type === 'agent') return <AgentLink id={id} name={name} />;
  if (type === 'job') {
    return (
      <RunLink id={id}>
        <bdi>{name}</bdi>
      </RunLink>
    );
  }
  if (type === 'schedule') {
    return (
      <Link to="/schedules/$id" params={{ id }} className="text-accent hover:underline">
        <bdi>{name}</bdi>
      </Link>
    );
  }
  return <bdi>{name}</bdi>;
}

import { useMutation } from '@tanstack/react-query';
import { type ChatToolCall, manageManage } from '../../../api/generated';
import { escapeDirectionMarks } from '../../../format/one-direction';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { ErrorNote, ErrorWithAdvice } from '../../../ui/error-note';
import { StatusMark } from '../../../ui/status-mark';

interface ToolCallProps {
  agentId: string;
  call: ChatToolCall;
  decided: () => Promise<void>;
}

/** Tool call of the model with its arguments and result, and buttons to approve or decline it if needed. */
export function ToolCall({ agentId, call, decided }: ToolCallProps) {
  const { tool, status, error, code, result, confirmationId, expiresAt } = call;
  const hasArguments = Object.keys(call.arguments).length > 0;
  const waits = status === 'needs_confirmation' && confirmationId !== undefined;
  const deciding = useMutation({
    mutationFn: (approve: boolean) => manageManage({ path: { id: agentId }, body: { confirmationId, approve } }),
    onSettled: decided,
  });
  const answer = deciding.data;
  return (
    <div
      data-testid="chat-call"
      className={`rounded-control border p-2.5 ${waits && !answer ? 'border-warn bg-warn-soft' : 'border-line bg-sunken/50'}`}
    >
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <code className="font-mono text-xs break-all">{tool}</code>
        <StatusMark status={answer?.status ?? status} />
      </p>
      {hasArguments && <CallArguments tool={tool} values={call.arguments} open={waits} />}
      {waits && !answer && (
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <Button look="primary" busy={deciding.isPending} onClick={() => deciding.mutate(true)}>
            Approve
          </Button>
          <Button busy={deciding.isPending} onClick={() => deciding.mutate(false)}>
            Decline
          </Button>
          {expiresAt && (
            <span className="text-xs text-dim">
              Can be approved until <Time at={expiresAt} />.
            </span>
          )}
        </div>
      )}
      {deciding.isError && <ErrorNote error={deciding.error} />}
      {(answer?.result ?? result) !== undefined && <ExpandableValue label="Result" value={answer?.result ?? result} />}
      <ErrorWithAdvice error={answer?.error ?? error} code={answer?.code ?? code} />
    </div>
  );
}

/**
 * Shows string arguments unescaped, so that code is readable before it is approved, except characters that would show
 * the code in another order than it runs in.
 */
function CallArguments({ tool, values, open }: { tool: string; values: Record<string, unknown>; open: boolean }) {
  return (
    <details open={open} className="mt-1.5">
      <summary className="text-xs text-dim">Arguments of {tool}</summary>
      {Object.entries(values).map(([name, value]) => (
        <ValueText key={name} label={name} value={value} showsLabel />
      ))}
    </details>
  );
}

function ExpandableValue({ label, value }: { label: string; value: unknown }) {
  return (
    <details className="mt-1.5">
      <summary className="text-xs text-dim">{label}</summary>
      <ValueText label={label} value={value} />
    </details>
  );
}

function ValueText({ label, value, showsLabel }: { label: string; value: unknown; showsLabel?: boolean }) {
  return (
    <>
      {showsLabel && <p className="mt-1 font-mono text-xs break-all text-dim">{label}</p>}
      <pre
        tabIndex={0}
        aria-label={label}
        className="mt-1 max-h-60 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {escapeDirectionMarks(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}
      </pre>
    </>
  );
}

import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { getAdvice } from '../../api/advice';
import { agentCommandsRunSnippet } from '../../api/generated';
import { useSnippet } from '../../live/use-snippet';
import { Button } from '../../ui/button';
import { CodeEditor } from '../../ui/code-editor';
import { ErrorNote } from '../../ui/error-note';
import { Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';

const example = 'import platform\nprint(platform.node())\n';

/** Runs a few lines of Python on the machine and streams their output. */
export function Snippets({ agentId }: { agentId: string }) {
  const code = useRef(example);
  const [commandId, setCommandId] = useState<string>();
  const starting = useMutation({
    mutationFn: () => agentCommandsRunSnippet({ path: { id: agentId }, body: { code: code.current } }),
    onSuccess: (started) => setCommandId(started.commandId),
  });
  const { answer, error } = useSnippet(agentId, commandId);
  const isRunning =
    starting.isPending || (commandId !== undefined && !error && (!answer || answer.status === 'pending'));
  return (
    <Panel
      title="Snippet"
      actions={
        <Button look="primary" busy={isRunning} onClick={() => starting.mutate()}>
          Run snippet
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <CodeEditor label="Code" initial={example} onChange={(text) => void (code.current = text)} />
        {starting.isError && <ErrorNote error={starting.error} />}
        {error !== undefined && <ErrorNote error={error} />}
        {answer && (
          <div>
            <StatusMark status={answer.status} testId="snippet-status" />
            <pre
              data-testid="snippet-output"
              tabIndex={0}
              dir="auto"
              aria-label="Snippet output"
              className="mt-2 max-h-80 overflow-auto rounded-control bg-sunken p-2.5 font-mono text-xs break-words whitespace-pre-wrap"
            >
              {[answer.output, answer.error].filter(Boolean).join('\n')}
            </pre>
          </div>
        )}
        {answer?.code && <p className="text-dim">{getAdvice(answer.code) ?? answer.code}</p>}
      </div>
    </Panel>
  );
}

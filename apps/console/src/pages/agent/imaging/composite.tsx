import { useQueryClient } from '@tanstack/react-query';
import { imagingCompositeStart, type ImagingCompositeStatus, imagingCompositeStatus } from '../../../api/generated';
import { useCommand } from '../../../parts/use-command';
import { ErrorNote, ErrorWithAdvice } from '../../../ui/error-note';
import { Form, TextField } from '../../../ui/form';
import { EmptyNote, FactList, Panel } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { useUrlState } from '../../../ui/table/use-url-state';
import { EarlierCommands } from './earlier';
import { TeethField, parseTeeth } from './teeth-field';

/** Creates one image from the newest image of each requested tooth. */
export function ImagingComposite({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  const [{ compositeId }, change] = useUrlState();
  const client = useQueryClient();
  const showComposite = (id: string) => change({ compositeId: id });
  const answer = useCommand(agentId, compositeId, (commandId, signal) =>
    imagingCompositeStatus({ path: { id: agentId }, query: { commandId }, signal }),
  );
  return (
    <Panel title="Composite">
      <div className="grid gap-5 lg:grid-cols-[minmax(0,22rem)_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-4">
          {mayAsk && (
            <Form
              submit="Create composite"
              onSubmit={(values) =>
                imagingCompositeStart({
                  path: { id: agentId },
                  body: { patientLookup: values.readText('patientLookup'), teeth: parseTeeth(values.readAll('teeth')) },
                })
              }
              onDone={({ commandId }) => {
                showComposite(commandId);
                void client.invalidateQueries({ queryKey: ['commands', agentId] });
              }}
            >
              <TextField
                label="Patient"
                name="patientLookup"
                hint="Enter the patient’s image id (PATIMAGEID), chart number, or name in the form “Last, First”."
                required
                maxLength={500}
                autoComplete="off"
              />
              <TeethField />
            </Form>
          )}
          <EarlierCommands agentId={agentId} kind="imaging_composite" shown={compositeId} show={showComposite} />
        </div>
        <div className="flex min-w-0 flex-col gap-3" aria-live="polite">
          {!compositeId && <EmptyNote title="The composite image appears here when it is ready." />}
          {answer.isError && <ErrorNote error={answer.error} retry={() => void answer.refetch()} />}
          {answer.data && <CompositeResult status={answer.data} />}
        </div>
      </div>
    </Panel>
  );
}

interface MadeOf {
  patient?: { patimageid?: number; chart?: string; name?: string };
  teeth_found?: number[];
  teeth_missing?: number[];
}

function CompositeResult({
  status: { status, output, error, code, compositeUrl },
}: {
  status: ImagingCompositeStatus;
}) {
  const report = output === undefined ? undefined : parseCompositeOutput(output);
  const found = report?.teeth_found ?? [];
  return (
    <>
      <StatusMark status={status} testId="composite-status" />
      {status === 'pending' && <p className="text-dim">The machine is searching for the images.</p>}
      {compositeUrl && (
        <a href={compositeUrl} target="_blank" rel="noreferrer">
          <img
            src={compositeUrl}
            alt={`Composite of ${found.length > 0 ? `teeth ${found.join(', ')}` : 'placeholders'}`}
            className="w-full max-w-3xl rounded-control border border-line"
          />
        </a>
      )}
      {status === 'success' && compositeUrl === null && (
        <p>The image is ready but cannot be shown at the moment. Reload the page later.</p>
      )}
      {report && (
        <FactList
          facts={[
            ['Patient', <bdi>{[report.patient?.name, report.patient?.chart].filter(Boolean).join(', ') || '–'}</bdi>],
            ['PATIMAGEID', report.patient?.patimageid ?? '–'],
            ['Found', found.join(', ') || 'none'],
            ['Missing', report.teeth_missing?.join(', ') || 'none'],
          ]}
        />
      )}
      {status === 'failed' && <ErrorWithAdvice error={error} code={code} />}
    </>
  );
}

/** Parses the JSON between the markers in the command's output. Returns undefined if the JSON is missing or invalid. */
function parseCompositeOutput(output: string): MadeOf | undefined {
  const [, json] = /__IMAGING_COMP_START__([^]*?)__IMAGING_COMP_END__/.exec(output) ?? [];
  try {
    return json === undefined ? undefined : (JSON.parse(json) as MadeOf);
  } catch {
    return undefined;
  }
}

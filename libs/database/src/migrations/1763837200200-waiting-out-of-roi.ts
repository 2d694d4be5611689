import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Time for which runs waited for people, for the return on investment, which leaves it out of the processing time. */
export class WaitingOutOfRoi1763837200200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE pilot_batch ADD deleted_job_waiting_micros bigint');
    await runner.query('ALTER TABLE pilot_roi_cost ADD waiting_micros bigint NOT NULL DEFAULT 0');
    // The end of a question changes the time for which its run waited, so the days of the run are computed again.
    await runner.query(`
      CREATE FUNCTION note_question_end() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO pilot_roi_change (organization_id, job_id)
        SELECT NEW.organization_id, NEW.job_id WHERE EXISTS (SELECT FROM pilot_batch WHERE job_id = NEW.job_id);
        RETURN NULL;
      END $$;
      CREATE TRIGGER question_end_roi AFTER UPDATE OF ended_at ON question FOR EACH ROW
        WHEN (OLD.ended_at IS DISTINCT FROM NEW.ended_at AND NEW.job_id IS NOT NULL)
        EXECUTE FUNCTION note_question_end();
      INSERT INTO pilot_roi_change (organization_id, job_id)
      SELECT DISTINCT q.organization_id, q.job_id FROM question q JOIN pilot_batch b ON b.job_id = q.job_id`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER question_end_roi ON question; DROP FUNCTION note_question_end()');
    await runner.query('ALTER TABLE pilot_roi_cost DROP waiting_micros');
    await runner.query('ALTER TABLE pilot_batch DROP deleted_job_waiting_micros');
  }
}

/** Setup of each test file in a run as of a date: its clock, and that of the processes that it starts, begins at FILES_BEGIN_AT. */

const leadMs = Date.parse(process.env.FILES_BEGIN_AT!) - Date.now()
process.env.CLOCK_OFFSET_MS = String(Number(process.env.CLOCK_OFFSET_MS) + leadMs)

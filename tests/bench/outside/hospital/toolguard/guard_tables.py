"""Sections 2 to 4 of policies/hospital/policy.md: a guard a tool."""

from toolguard.runtime import PolicyViolationException

BEDSIDE = ("physician", "nursing")
ADMINISTRATION = {
    "patient": [
        "patientunitstayid",
        "patienthealthsystemstayid",
        "uniquepid",
        "hospitalid",
        "wardid",
        "hospitaladmitsource",
        "hospitaldischargestatus",
        "hospitaladmittime",
        "unitadmittime",
        "unitdischargetime",
        "hospitaldischargetime",
    ],
    "lab": ["patientunitstayid", "labresulttime"],
    "medication": ["patientunitstayid", "drugname", "drugstarttime", "drugstoptime"],
    "treatment": ["patientunitstayid", "treatmentname", "treatmenttime"],
    "cost": ["uniquepid", "patienthealthsystemstayid", "eventtype", "eventid", "chargetime", "cost"],
}
NOBODY = {
    "diagnosisid",
    "treatmentid",
    "labid",
    "medicationid",
    "costid",
    "allergyid",
    "intakeoutputid",
    "microlabid",
    "vitalperiodicid",
}


async def require(api, table, columns, *roles):
    if NOBODY & set(columns):
        raise PolicyViolationException(
            "The running numbers by which the database keeps its own rows are read by nobody"
        )
    role = await api.get_role()
    if role not in roles and not (
        role == "general administration" and set(columns) <= set(ADMINISTRATION.get(table, ()))
    ):
        raise PolicyViolationException(f"{role} does not read these columns of {table}")


async def guard_read_patient(api, columns: list):
    await require(api, "patient", columns, *BEDSIDE)


async def guard_read_treatment(api, columns: list):
    await require(api, "treatment", columns, *BEDSIDE)


async def guard_read_lab(api, columns: list):
    await require(api, "lab", columns, *BEDSIDE)


async def guard_read_medication(api, columns: list):
    await require(api, "medication", columns, *BEDSIDE)


async def guard_read_microlab(api, columns: list):
    await require(api, "microlab", columns, *BEDSIDE)


async def guard_read_allergy(api, columns: list):
    await require(api, "allergy", columns, *BEDSIDE)


async def guard_read_vitalperiodic(api, columns: list):
    await require(api, "vitalperiodic", columns, *BEDSIDE)


async def guard_read_diagnosis(api, columns: list):
    await require(api, "diagnosis", columns, "physician")


async def guard_read_intakeoutput(api, columns: list):
    await require(api, "intakeoutput", columns, "nursing")


async def guard_read_cost(api, columns: list):
    await require(api, "cost", columns)


async def guard_run_unclear_code(api):
    raise PolicyViolationException("Code of which it cannot be told what it reads is not run.")
